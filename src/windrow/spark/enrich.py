"""A stream completed from tables: a broadcast join in the batch, before anything is filtered or grouped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.errors import JobError
from windrow.model.system import SYSTEM_COLUMNS
from windrow.plan.stages import Enrich, Lookup, Side
from windrow.spark.derive import TRAVELLING
from windrow.spark.expressions import quote, to_sql
from windrow.spark.flow import Flow
from windrow.spark.querying import strictness
from windrow.spark.reading import FATE, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FOUND = "_found"  # prefix of the columns that say whether a table had a row
# What ``join.on_missing = default`` puts in place of NULL, by the start of a Spark type's name.
_DEFAULTS = {
    "tinyint": "0",
    "smallint": "0",
    "int": "0",
    "bigint": "0",
    "float": "0",
    "double": "0",
    "decimal": "0",
    "string": "''",
    "boolean": "false",
}


@dataclass(frozen=True)
class Enriched:
    """The completed rows. ``total`` rows were looked at and ``skipped`` of them left out; None where none can be."""

    flow: Flow
    total: int | None = None
    skipped: int = 0


def enrich(spark: SparkSession, stage: Enrich, source: Flow, table: Callable[[str], DataFrame]) -> Enriched:
    """``table`` gives a table by its name, as it stands."""
    frame = qualified(source.as_frame(spark), stage.stream)
    with strictness(frame.sparkSession, stage.is_strict):
        for index, lookup in enumerate(stage.lookups):
            frame = _look_up(frame, index, lookup, table(lookup.table.input))
        total, skipped = _judge(stage, frame)
        for index, lookup in enumerate(stage.lookups):
            if lookup.on_missing in ("skip", "fail"):
                frame = frame.where(f"{_FOUND}{index}")
        frame = frame.drop(*(f"{_FOUND}{index}" for index in range(len(stage.lookups))))
    travelling = {name.lower() for name in TRAVELLING}
    return Enriched(Flow(tuple(c for c in frame.columns if c.lower() not in travelling), frame), total, skipped)


def qualified(frame: DataFrame, side: Side, *, is_stream: bool = True) -> DataFrame:
    """A side's rows under their physical names; a stream's rows keep their own system columns beside them."""
    there = {name.lower(): name for name in frame.columns}
    if FATE in there:
        frame = frame.where(f"{FATE} = 0")
    travelling = [quote(there[name]) for name in TRAVELLING if is_stream and name in there]
    if side.prefix is None:
        names = [quote(name) for name in frame.columns if "." in name]
        return frame.selectExpr(*names, *travelling)
    columns = []
    for column in side.columns:
        value = quote(there[column.name.lower()]) if column.name.lower() in there else f"CAST(NULL AS {spark_type(column)})"
        columns.append(f"{value} AS {quote(f'{side.prefix}.{column.name}'.lower())}")
    known = {column.name.lower() for column in side.columns}
    system = [c.name for c in SYSTEM_COLUMNS if c.name in there and c.name not in known]
    columns.extend(f"{quote(name)} AS {quote(f'{side.prefix}.{name}')}" for name in system)
    return frame.selectExpr(*columns, *travelling)


def _look_up(frame: DataFrame, index: int, lookup: Lookup, table: DataFrame) -> DataFrame:
    from pyspark.sql import functions

    found = f"{_FOUND}{index}"
    side = qualified(table, lookup.table, is_stream=False).selectExpr("*", f"true AS {found}")
    condition = functions.expr("true" if lookup.on is None else to_sql(lookup.on))
    joined = frame.join(functions.broadcast(side), condition, "left")
    values = [_value(name, type_, found, lookup) for name, type_ in side.dtypes if name != found]
    return joined.selectExpr(*(quote(name) for name in frame.columns), *values, f"coalesce({found}, false) AS {found}")


def _value(name: str, type_: str, found: str, lookup: Lookup) -> str:
    default = _DEFAULTS.get(type_.partition("(")[0])
    if lookup.on_missing != "default" or default is None:
        return quote(name)
    return f"CASE WHEN {found} THEN {quote(name)} ELSE CAST({default} AS {type_}) END AS {quote(name)}"


def _judge(stage: Enrich, frame: DataFrame) -> tuple[int | None, int]:
    """Count what is left out, in a job of its own, where something can be; stop where that is wanted."""
    failing = {index: lookup for index, lookup in enumerate(stage.lookups) if lookup.on_missing == "fail"}
    skipping = [index for index, lookup in enumerate(stage.lookups) if lookup.on_missing == "skip"]
    if not failing and not skipping:
        return None, 0
    skipped = " OR ".join(f"NOT {_FOUND}{index}" for index in skipping) or "false"
    counts = [f"count_if(NOT {_FOUND}{index}) AS f{index}" for index in failing]
    row = frame.selectExpr("count(1) AS n", f"count_if({skipped}) AS s", *counts).collect()[0]
    for index, lookup in failing.items():
        if row[f"f{index}"]:
            raise JobError(
                "WR831",
                f"{row[f'f{index}']} rows found nothing in the table {lookup.table.input}, and 'join.on_missing' is 'fail'",
                "add what is missing to the table, or write 'join.on_missing' = 'null'",
            )
    return row["n"], row["s"]
