"""LIMIT: so many rows over the life of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.runtime import SEQ
from windrow.spark.query.flow import Flow
from windrow.spark.state.counters import StageCounters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def limited(spark: SparkSession, flow: Flow, limit: int | None, counters: StageCounters) -> Flow:
    """What is left of a limit, in input order; the stage's counters say how many there have been."""
    if limit is None:
        return flow
    left = max(0, limit - counters.emitted)
    table = flow.table
    if table is None:
        frame = flow.as_frame(spark)
        table = (frame.orderBy(SEQ) if SEQ in frame.columns else frame).limit(left).toArrow()
    table = table.slice(0, left)
    counters.emitted += table.num_rows
    return Flow(flow.columns, table=table)
