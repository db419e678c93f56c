"""Filter and project: the stage that remembers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import PROVENANCE, SEQ
from windrow.model.expr import Column
from windrow.model.system import SYSTEM_COLUMNS
from windrow.plan.stages import Derive, LookBack
from windrow.spark.accounting import PASSED, passes_sql
from windrow.spark.event_time import own_time_sql
from windrow.spark.expressions import quote, sort_sql, to_sql
from windrow.spark.flow import Flow
from windrow.spark.headers import headers_sql
from windrow.spark.marks import MARKS
from windrow.spark.querying import strictness
from windrow.spark.reading import FATE
from windrow.windowing.columns import END, START

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What travels with a row beside its columns.
TRAVELLING = (*(column.name for column in SYSTEM_COLUMNS), SEQ, *MARKS)
_RESERVED = {name.lower() for name in TRAVELLING}


def derive(spark: SparkSession, stage: Derive, source: Flow) -> Flow:
    renamed = _renamed(stage, source)
    if renamed is not None:
        return renamed
    frame = source.as_frame(spark)
    with strictness(frame.sparkSession, stage.is_strict):
        return _derive(frame, stage, source)


def _renamed(stage: Derive, source: Flow) -> Flow | None:
    """Rows that are in the driver and only get other names need no Spark job."""
    table = source.table
    is_plain = stage.where is None and not stage.order_by and stage.key is None and not stage.headers
    if table is None or not is_plain or "_key" not in table.column_names:
        return None
    columns: dict[str, str] = {}
    for item in stage.items:
        match item.expr:
            case None:
                columns.update({name: name for name in source.columns})
            case Column(name=name, qualifier=None) if name in table.column_names and item.name.lower() not in _RESERVED:
                columns[item.name] = name
            case _:
                return None
    travelling = {name: name for name in TRAVELLING if name in table.column_names}
    return Flow(tuple(columns), table=pa.table({new: table[old] for new, old in {**columns, **travelling}.items()}))


def _derive(frame: DataFrame, stage: Derive, source: Flow) -> Flow:
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0")
    if stage.where is not None:
        frame = frame.where(to_sql(stage.where))
    projected, names = project(frame, stage, source.columns)
    return Flow(_visible(stage, names), projected)


def _visible(stage: Derive, names: list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.lower() not in _SYSTEM_NAMES and name not in stage.beside)


def derive_counted(spark: SparkSession, stage: Derive, source: Flow, marks: Mapping[str, str]) -> Flow:
    """Every row of a source, with marks by which it is counted; only of those that pass anything else is computed."""
    frame = source.as_frame(spark)
    columns = (f"{sql} AS {name}" for name, sql in {**marks, PASSED: passes_sql(stage)}.items())
    projected, names = project(frame.selectExpr("*", *columns), stage, source.columns, only=PASSED, along=(FATE, *marks, PASSED))
    return Flow(_visible(stage, names), projected)


def project(
    frame: DataFrame, stage: Derive | LookBack, visible: tuple[str, ...], *, only: str | None = None, along: tuple[str, ...] = ()
) -> tuple[DataFrame, list[str]]:
    """The items of a stage, with everything that travels along; and their names. ``visible`` is what a star means.

    Where ``only`` names a column that is not true, nothing is computed. Columns ``along`` are taken as they are.
    """
    there = set(frame.columns)
    if stage.order_by:
        # The order of an emission replaces the order of arrival; the windows of a batch stay apart.
        frame = frame.selectExpr(*(quote(c) for c in frame.columns if c != SEQ), f"{_rank(stage, there)} AS {SEQ}")
    columns = [quote(name) for name in along]
    names: list[str] = []

    def guarded(sql: str) -> str:
        return sql if only is None else f"CASE WHEN {only} THEN {sql} END"

    for item in stage.items:
        if item.expr is None:
            columns.extend(quote(name) for name in visible)
            names.extend(visible)
        else:
            # ``expr AS _event_time`` sets the event time of what goes out, from any type that can hold one.
            is_time = item.name.lower() == "_event_time"
            columns.append(f"{guarded(own_time_sql(item.expr, frame) if is_time else to_sql(item.expr))} AS {quote(item.name)}")
            names.append(item.name)
    taken = {name.lower() for name in names}
    columns.extend(quote(name) for name in TRAVELLING if name in frame.columns and name not in taken and name not in ("_key", "_headers"))
    if "_headers" not in taken and ("_headers" in there or stage.headers):
        before = "`_headers`" if "_headers" in there else "CAST(NULL AS MAP<STRING, STRING>)"
        columns.append(f"{guarded(headers_sql(stage.headers, before))} AS `_headers`")
    if "_key" not in taken:
        columns.append(f"{guarded(_key_sql(stage, there))} AS `_key`")
    return frame.selectExpr(*columns), names


_SYSTEM_NAMES = {name.lower() for name in (*PROVENANCE, "_event_time")}


def _key_sql(stage: Derive | LookBack, there: set[str]) -> str:
    if stage.key is not None:
        return to_sql(stage.key)
    return "`_key`" if "_key" in there else "CAST(NULL AS STRING)"


def _rank(stage: Derive | LookBack, there: set[str]) -> str:
    windows = [quote(name) for name in (END, START) if name in there]
    arrival = [SEQ] if SEQ in there else []
    return f"CAST(row_number() OVER (ORDER BY {', '.join([*windows, *map(sort_sql, stage.order_by), *arrival])}) AS BIGINT)"
