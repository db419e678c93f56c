"""A stream completed from tables: a broadcast join in the batch, before anything is filtered or grouped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.errors import JobError
from windrow.model.changes import DELETED
from windrow.model.policies import MissingTableRow
from windrow.model.system import SYSTEM_COLUMNS
from windrow.model.types import STRING, ColumnDef
from windrow.plan.stages import Lookup, LookupJoin, Side
from windrow.spark.compile.expressions import quote, to_sql
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import FATE, TRAVELLING
from windrow.spark.scan.row_reader import spark_type
from windrow.spark.tables.reference_tables import ReferenceTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNTIL, _NTH = "_until", "_table_row"
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
class LookedUp:
    """The completed rows. ``total`` rows were looked at and ``skipped`` of them left out; None where none can be."""

    flow: Flow
    total: int | None = None
    skipped: int = 0


def look_up(
    spark: SparkSession, stage: LookupJoin, source: Flow, table: Callable[[Lookup], DataFrame], tables: ReferenceTables
) -> LookedUp:
    """``table`` gives what is looked up as it stands now, ``tables`` all versions of those that have some."""
    frame = qualified(source.as_frame(spark), stage.stream)
    with strictness(frame.sparkSession, stage.is_strict):
        for index, lookup in enumerate(stage.lookups):
            frame = _look_up(frame, index, lookup, table, tables)
        total, skipped = _judge(stage, frame)
        for index, lookup in enumerate(stage.lookups):
            if lookup.on_missing in (MissingTableRow.SKIP, MissingTableRow.FAIL):
                frame = frame.where(f"{_FOUND}{index}")
        frame = frame.drop(*(f"{_FOUND}{index}" for index in range(len(stage.lookups))))
    travelling = {name.lower() for name in TRAVELLING}
    return LookedUp(Flow(tuple(c for c in frame.columns if c.lower() not in travelling), frame), total, skipped)


def misses(frame: DataFrame, stage: LookupJoin, table: Callable[[Lookup], DataFrame], tables: ReferenceTables) -> DataFrame:
    """The rows, under their physical names, that find nothing in some table."""
    with strictness(frame.sparkSession, stage.is_strict):
        for index, lookup in enumerate(stage.lookups):
            frame = _look_up(frame, index, lookup, table, tables)
        return frame.where(" OR ".join(f"NOT {_FOUND}{index}" for index in range(len(stage.lookups))))


def qualified(frame: DataFrame, side: Side, also: Sequence[str] = (), *, is_stream: bool = True) -> DataFrame:
    """A side's rows under their physical names; a stream's rows keep their system columns beside them, and those named in ``also``."""
    there = {name.lower(): name for name in frame.columns}
    if FATE in there:
        frame = frame.where(f"{FATE} = 0")
    travelling = [quote(there[name]) for name in (*TRAVELLING, *also) if is_stream and name in there]
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


def _look_up(frame: DataFrame, index: int, lookup: Lookup, table: Callable[[Lookup], DataFrame], tables: ReferenceTables) -> DataFrame:
    from pyspark.sql import functions

    found = f"{_FOUND}{index}"
    side = _candidates(lookup, table, tables).selectExpr("*", f"true AS {found}")
    condition = "true" if lookup.on is None else to_sql(lookup.on)
    if lookup.as_of is not None:
        at, since = to_sql(lookup.as_of), quote(f"{lookup.table.prefix}._event_time")
        condition += f" AND {since} <= {at} AND coalesce({at} < {_UNTIL}, true)"
    elif lookup.newest is not None:
        at, since = to_sql(lookup.newest.at), to_sql(lookup.newest.since)
        after, before = ("<", "<=") if lookup.newest.is_exclusive else ("<=", "<")
        condition += f" AND {since} {after} {at} AND coalesce({at} {before} {_UNTIL}, true)"
    joined = frame.join(functions.broadcast(side), functions.expr(condition), "left")
    values = [_value(name, type_, found, lookup) for name, type_ in side.dtypes if name not in (found, _UNTIL)]
    return joined.selectExpr(*(quote(name) for name in frame.columns), *values, f"coalesce({found}, false) AS {found}")


def _candidates(lookup: Lookup, table: Callable[[Lookup], DataFrame], tables: ReferenceTables) -> DataFrame:
    """The rows of a table under their physical names; where one of several is chosen, with the time at which the next takes its place."""
    if lookup.as_of is not None:
        return _versions(lookup, tables)
    if lookup.newest is None:
        return qualified(table(lookup), lookup.table, is_stream=False)
    since, by = to_sql(lookup.newest.since), [to_sql(expr) for expr in lookup.newest.by]
    counts = f"{since} IS NOT NULL" + ("" if lookup.newest.only is None else f" AND {to_sql(lookup.newest.only)}")
    if lookup.rows is not None:
        return _until_next(qualified(table(lookup), lookup.table, is_stream=False).where(counts), since, by)
    return _in_force(lookup, tables, lambda side: _until_next(side.where(counts), since, by))


def _until_next(side: DataFrame, since: str, by: list[str]) -> DataFrame:
    """Of two rows with the same time, the one that came later counts."""
    side = side.selectExpr("*", f"monotonically_increasing_id() AS {_NTH}")
    until = f"lead({since}) OVER (PARTITION BY {', '.join(by) or '1'} ORDER BY {since}, {_NTH})"
    return side.selectExpr("*", f"{until} AS {_UNTIL}").drop(_NTH)


def _versions(lookup: Lookup, tables: ReferenceTables) -> DataFrame:
    """The rows of a table with the time at which the next version of each took its place."""
    keys = [f"{lookup.table.prefix}.{key}".lower() for key in tables.primary_key(lookup.table.input)] or list(lookup.compared)
    since = quote(f"{lookup.table.prefix}._event_time")
    return _in_force(lookup, tables, lambda side: _until_next(side, since, [quote(key) for key in keys]))


def _in_force(lookup: Lookup, tables: ReferenceTables, until_next: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Versions with their ends. One that says that its row was deleted ends the one before, and is none itself."""
    versions, change = tables.versions(lookup.table.input), tables.change(lookup.table.input)
    if change is None:
        return until_next(qualified(versions, lookup.table, is_stream=False))
    listed = {column.name for column in lookup.table.columns}
    side = replace(lookup.table, columns=(*lookup.table.columns, *(() if change in listed else (ColumnDef(change, STRING),))))
    name = f"{lookup.table.prefix}.{change}".lower()
    rows = until_next(qualified(versions, side, is_stream=False)).where(f"NOT {quote(name)} <=> '{DELETED}'")
    return rows if change in listed else rows.drop(quote(name))


def _value(name: str, type_: str, found: str, lookup: Lookup) -> str:
    default = _DEFAULTS.get(type_.partition("(")[0])
    if lookup.on_missing is not MissingTableRow.DEFAULT or default is None:
        return quote(name)
    return f"CASE WHEN {found} THEN {quote(name)} ELSE CAST({default} AS {type_}) END AS {quote(name)}"


def _judge(stage: LookupJoin, frame: DataFrame) -> tuple[int | None, int]:
    """Count what is left out, in a job of its own, where something can be; stop where that is wanted."""
    failing = {index: lookup for index, lookup in enumerate(stage.lookups) if lookup.on_missing is MissingTableRow.FAIL}
    skipping = [index for index, lookup in enumerate(stage.lookups) if lookup.on_missing is MissingTableRow.SKIP]
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
