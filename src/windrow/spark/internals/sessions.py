"""Sessions beside a session: the same cluster and the same settings, views and functions of their own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from windrow.spark.internals.java_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def set_explicitly(spark: SparkSession) -> dict[str, str]:
    """What somebody has set: for the cluster, for the application or in this session. Spark's defaults are not among it."""
    return dict(spark.conf.getAll)


def session_like(spark: SparkSession, given: dict[str, str] | None = None) -> SparkSession:
    """``SparkSession.newSession`` has what was set for the application, but nothing of what was set in the session since.

    ``given`` is what is set there, where that is known.
    """
    own = spark.newSession()
    there = set_explicitly(own)
    for key, value in (set_explicitly(spark) if given is None else given).items():
        if there.get(key) != value:
            # What can be set for an application only is the same in all of its sessions. Spark knows which: of other keys it says nothing.
            with suppress(*spark_errors()):
                own.conf.set(key, value)
    return own


def has_stopped(spark: SparkSession) -> bool:
    """Whether Spark was stopped, from Python or by its own end."""
    context: Any = spark.sparkContext
    return context._jsc is None or bool(context._jsc.sc().isStopped())
