"""Tasks that may fail and are then done in another way: what Spark logs of that is no news, and looks like a disaster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Properties with this prefix go with a task to the thread that runs it, where a filter of the log sees them.
_MARK = "mdc.windrow.expected"
# What the scheduler says of a task lost to a record that cannot be read: it has no mark, but the reason in its text.
_TEXT = r"(?s).*(MALFORMED_RECORD_IN_PARSING|failed \d+ times; aborting job).*"


class ExpectedFailures:
    """Made once for a job. A session that logs nothing but the end of the world (one of our own) is left as it is."""

    def __init__(self) -> None:
        self._filters: tuple[Any, Any] | None = None
        self._is_needed: bool | None = None

    @contextmanager
    def unlogged(self, spark: SparkSession) -> Iterator[None]:
        """Within this, failures of the tasks of this thread are not logged. Those of other jobs still are."""
        if self._is_needed is None:
            self._is_needed = self._prepare(spark)
        if not self._is_needed or self._filters is None:
            yield
            return
        context, text = self._filters
        spark.sparkContext.setLocalProperty(_MARK, "true")
        context.addFilter(text)
        try:
            yield
        finally:
            context.removeFilter(text)
            spark.sparkContext.setLocalProperty(_MARK, "false")

    def _prepare(self, spark: SparkSession) -> bool:
        """Whether anything would be logged. Where the log is not what we know (another library, another version), it is left alone."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types

        try:
            log4j: Any = spark._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # there is a JVM
            if not log4j.LogManager.getRootLogger().isErrorEnabled():
                return False
            gateway: Any = spark.sparkContext._gateway
            deny = log4j.core.Filter.Result.DENY
            neutral = log4j.core.Filter.Result.NEUTRAL
            pairs = gateway.new_array(log4j.core.util.KeyValuePair, 1)
            pairs[0] = log4j.core.util.KeyValuePair(_MARK, "true")
            context = log4j.LogManager.getContext(False)
            context.addFilter(log4j.core.filter.ThreadContextMapFilter.createFilter(pairs, "and", deny, neutral))
            self._filters = context, log4j.core.filter.RegexFilter.createFilter(_TEXT, None, False, deny, neutral)
        except (Py4JError, TypeError):
            return False
        return True
