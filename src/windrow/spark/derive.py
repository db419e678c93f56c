"""Filter and project: the stage that remembers nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.runtime import PROVENANCE, SEQ
from windrow.model.system import SYSTEM_COLUMNS
from windrow.plan.stages import Derive
from windrow.spark.expressions import quote, sort_sql, to_sql
from windrow.spark.flow import Flow
from windrow.spark.reading import FATE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What travels with a row beside its columns.
TRAVELLING = (*(column.name for column in SYSTEM_COLUMNS), SEQ)


def derive(spark: SparkSession, stage: Derive, source: Flow) -> Flow:
    frame = source.as_frame(spark)
    there = set(frame.columns)
    if FATE in there:
        frame = frame.where(f"{FATE} = 0")
    if stage.where is not None:
        frame = frame.where(to_sql(stage.where))
    columns, names = [], []
    for item in stage.items:
        if item.expr is None:
            columns.extend(quote(name) for name in source.columns)
            names.extend(source.columns)
        else:
            columns.append(f"{to_sql(item.expr)} AS {quote(item.name)}")
            names.append(item.name)
    taken = {name.lower() for name in names}
    for name in TRAVELLING:
        if name in there and name not in taken and name != "_key":
            columns.append(quote(name))
    if "_key" not in taken:
        columns.append(f"{to_sql(stage.key)} AS `_key`" if stage.key is not None else "`_key`" if "_key" in there else "CAST(NULL AS STRING) AS `_key`")
    frame = frame.selectExpr(*columns)
    if stage.order_by:
        frame = frame.orderBy(*(_sort_expr(key) for key in map(sort_sql, stage.order_by)))
    visible = tuple(name for name in names if name.lower() not in _SYSTEM_NAMES)
    return Flow(visible, frame)


_SYSTEM_NAMES = {name.lower() for name in (*PROVENANCE, "_event_time")}


def _sort_expr(text: str):  # type: ignore[no-untyped-def]  # a pyspark Column, which must not be imported at module level here
    from pyspark.sql import functions

    return functions.expr(text)
