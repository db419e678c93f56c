"""The streaming query that calls from this thread, and the plan of the batch that it has just handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.spark.internals.jvm import java_session, jvm_of, need_methods

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUERY_ID = "sql.streaming.queryId"


def probe(spark: SparkSession) -> None:
    jvm = jvm_of(spark)
    need_methods(jvm, "org.apache.spark.sql.internal.SharedState", activeStreamingQueries=0)
    need_methods(jvm, "org.apache.spark.sql.execution.QueryExecution", executedPlan=0, toRdd=0, analyzed=0)


class RunningQueries:
    def __init__(self, spark: SparkSession) -> None:
        self._jvm = jvm_of(spark)
        self._running = java_session(spark).sharedState().activeStreamingQueries()
        self._query: tuple[str, Any] | None = None

    def plan_of(self, given: DataFrame, rows: Any) -> Any | None:
        """What made these rows, if they are those that the query handed over; None else."""
        query_id = given.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        if query_id is None:
            return None
        if self._query is None or self._query[0] != query_id:
            self._query = query_id, self._jvm.java.util.UUID.fromString(query_id)
        # Not kept: it holds the plans of its batches.
        stream = self._running.get(self._query[1])
        execution = None if stream is None else stream.lastExecution()
        if execution is None or execution.toRdd().id() != rows.id():
            return None
        return execution.executedPlan()
