"""How much a batch takes, so that it lasts about as long as somebody asked for (``'batch.target'``)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import BATCH_TARGET
from windrow.connectors.times import parse_duration
from windrow.observe.status import SourceStatus
from windrow.plan.stages import Job
from windrow.spark.internals.fast_paths import READ_LIMITS, fast_paths_of
from windrow.spark.internals.read_limits import set_read_limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger("windrow.jobs")
# So much longer or shorter than asked for is near enough: a limit that changes all the time makes batches that cannot be compared.
_NEAR = 1.2
_MOST_GROWTH, _MOST_CUT = 2.0, 0.25
# A batch has taken all that its limit allows, but for what does not divide evenly among partitions.
_FULL = 0.9
# Of files, which have more rows and fewer.
_FULL_OF_FILES, _FORGET = 0.6, 0.95


@dataclass
class Pace:
    """``limit`` is how much the next batch takes of a source, at most ``most``: rows, or files where ``is_files``.

    Spark tells how many rows a batch has read, and not how many files: ``rows_each`` is what one has, by the batches so far.
    """

    target: float
    limit: int
    most: int | None = None
    is_files: bool = False
    rows_each: float = 0.0

    def take(self, seconds: float, rows: int) -> bool:
        """After a batch that took so long and read so many rows. Whether the limit is another now.

        >>> pace = Pace(2.0, 1000, 5000)
        >>> [(pace.take(seconds, pace.limit), pace.limit) for seconds in (0.1, 1.0, 2.1, 3.0, 60.0)]
        [(True, 2000), (True, 4000), (False, 4000), (True, 2667), (True, 667)]
        >>> pace.take(0.1, rows=100)
        False
        """
        is_full = self._is_full(rows)
        ratio = self.target / max(seconds, 1e-3)
        if not rows or 1 / _NEAR <= ratio <= _NEAR or (ratio > 1 and not is_full):
            return False
        wanted = max(1, round(self.limit * min(max(ratio, _MOST_CUT), _MOST_GROWTH)))
        limit = wanted if self.most is None else min(wanted, self.most)
        is_another, self.limit = limit != self.limit, limit
        return is_another

    def _is_full(self, rows: int) -> bool:
        """Whether there was as much to read as was allowed: a batch that is short for want of rows says nothing of a longer one."""
        if not self.is_files:
            return rows >= _FULL * self.limit
        is_full = rows >= _FULL_OF_FILES * self.limit * self.rows_each
        # Files may have become smaller for good.
        self.rows_each = rows / self.limit if is_full else self.rows_each * _FORGET
        return is_full


class Pacing:
    """The paces of those sources of a job that have one, by name. ``wish`` is the target of all that name none themselves."""

    def __init__(self, job: Job, wish: str, spark: SparkSession) -> None:
        self._spark = spark
        self._paces: dict[str, Pace] = {}
        self._options: dict[str, str] = {}
        self._places = {read.name: place for place, read in enumerate(job.reads)}
        for read in job.reads:
            cap = CONNECTORS[read.connector].batch_cap
            text = dict(read.options).get(BATCH_TARGET.key) or wish
            if cap is None or not text:
                continue
            given = dict(read.options).get(cap.option)
            most = cap.most if given is None else int(given)
            first = cap.first if most is None else min(cap.first, most)
            self._paces[read.name] = Pace(parse_duration(text) / 1e6, first, most, cap.is_files)
            self._options[read.name] = cap.option
        if self._paces and not fast_paths_of(spark).allows(READ_LIMITS):
            LOG.warning("'batch.target' has no effect: this Spark cannot change how much a running query reads; batches take what they may")
            self._paces = {}

    def shown(self, sources: tuple[SourceStatus, ...]) -> tuple[SourceStatus, ...]:
        """With how much the next batch takes of each."""
        if not self._paces:
            return sources
        limits = {name: pace.limit for name, pace in self._paces.items()}
        return tuple(replace(source, batch_limit=limits.get(source.source)) for source in sources)

    def options_of(self, source: str) -> dict[str, str]:
        """What a source is opened with, in the place of what its own options say."""
        return {self._options[source]: str(self._paces[source].limit)} if source in self._paces else {}

    def after(self, query: StreamingQuery | None, seconds: float, rows: Mapping[str, int]) -> None:
        """Once a batch is done that took so long, and read so many rows of each source."""
        if not self._paces or query is None:
            return
        changed = {self._places[name]: pace.limit for name, pace in self._paces.items() if pace.take(seconds, rows.get(name, 0))}
        if changed:
            fast_paths_of(self._spark).attempt(READ_LIMITS, lambda: set_read_limits(query, self._spark, changed), lambda: None)
