"""Several flows as one: UNION ALL, and the streams that several statements write into."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from windrow.model import row_protocol
from windrow.model.types import NULL, UNKNOWN, ColumnDef
from windrow.plan.stages import InsertInput, InsertUnion, UnionAll
from windrow.spark.compile.event_time import event_time_sql
from windrow.spark.compile.expressions import quote
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import TRAVELLING
from windrow.spark.scan.row_reader import spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEY, _TEXT = row_protocol.KEY, "string"


def union_all(spark: SparkSession, stage: UnionAll, flows: Mapping[str, Flow]) -> Flow | None:
    """By position for what the user sees, by name for what travels along."""
    there = [flows[name] for name in stage.parts if name in flows]
    if not there:
        return None
    columns = stage.columns or there[0].columns
    frames = [flow.as_frame(spark).withColumnsRenamed(dict(zip(flow.columns, columns, strict=True))) for flow in there]
    return Flow(columns, _union(frames))


def insert_union(spark: SparkSession, stage: InsertUnion, flows: Mapping[str, Flow]) -> Flow | None:
    """Each inlet in the columns and types of the stream, then all of them in one."""
    there = [inlet for inlet in stage.inlets if inlet.input in flows]
    if not there:
        return None
    frames = [_taken(flows[inlet.input].as_frame(spark), inlet, stage) for inlet in there]
    return Flow(tuple(column.name for column in stage.columns), _union(frames))


def _taken(frame: DataFrame, inlet: InsertInput, stage: InsertUnion) -> DataFrame:
    values = {column.name.lower(): _value(column, name) for column, name in zip(stage.columns, inlet.columns, strict=True)}
    taken = [f"{values[column.name.lower()]} AS {quote(column.name)}" for column in stage.columns]
    there = {name.lower(): name for name in frame.columns}
    travelling = [name for name in TRAVELLING if name in there and name not in values]
    time = next((column for column in stage.columns if column.name.lower() == (stage.time.column or "").lower()), None)
    if time is not None:
        travelling = [name for name in travelling if name != "_event_time"]
        taken.append(f"{event_time_sql(values[time.name.lower()], time.type, stage.time.format)} AS `_event_time`")
    with strictness(frame.sparkSession, stage.is_strict):
        return frame.selectExpr(*taken, *(quote(there[name]) for name in travelling))


def _value(column: ColumnDef, name: str | None) -> str:
    value = "NULL" if name is None else quote(name)
    return value if name is not None and column.type in (UNKNOWN, NULL) else f"CAST({value} AS {spark_type(column)})"


def _union(frames: list[DataFrame]) -> DataFrame:
    if len({dict(frame.dtypes).get(_KEY, _TEXT) for frame in frames}) > 1:
        # The key of a group is of its own type; of groups by other keys, only texts are alike.
        frames = [frame.withColumn(_KEY, frame[_KEY].cast(_TEXT)) if _KEY in frame.columns else frame for frame in frames]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
