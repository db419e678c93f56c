"""Emissions of a step become output rows: HAVING, SELECT expressions, order, key and system columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.model.expr import Slot
from windrow.plan.event_times import LAST_TIME
from windrow.plan.headers import LAST_HEADERS
from windrow.plan.message_keys import joined_key
from windrow.plan.physical.renames import EMISSION_COLUMNS, emission_renames
from windrow.plan.stages import Aggregate
from windrow.spark.compile.expressions import of_batch, quote, sort_sql, to_sql
from windrow.spark.compile.headers import headers_sql
from windrow.spark.compile.sql_time import SqlTime
from windrow.spark.operators.partial_aggregation import finish_sql
from windrow.spark.operators.table_subquery import with_subquery_values
from windrow.spark.query.runner import strictness
from windrow.spark.tables.reference_tables import ReferenceTables
from windrow.windowing.columns import COUNT, EMISSION, END, FOREVER, NEVER, REVISION, SEQ, START
from windrow.windowing.emit_policy import AT_CLOSE
from windrow.windowing.epochs import EPOCH
from windrow.windowing.having import LET_OUT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC_MICROS = pa.timestamp("us", tz="UTC")
SYSTEM = EMISSION_COLUMNS
_GOES_WITH = "_goes_with"  # headers after the changes that the statement makes


class Finisher:
    """Turns the emissions of one stage into a table with the visible columns and every system column an emission has."""

    def __init__(self, spark: SparkSession, stage: Aggregate, tables: ReferenceTables) -> None:
        self._spark = spark
        self._tables = tables
        self._stage = stage

    def let_out(self, emissions: pa.Table) -> pa.ChunkedArray:
        """Whether HAVING lets each emission out, in order."""
        assert self._stage.having is not None
        with strictness(self._spark, self._stage.is_strict):
            frame = self._with_values(emissions).selectExpr(SEQ, f"coalesce({to_sql(self._stage.having)}, false) AS {LET_OUT}")
            return frame.toArrow().sort_by(SEQ)[LET_OUT]

    def _with_values(self, table: pa.Table) -> DataFrame:
        """Emissions with the value of every aggregate and the answer of every subquery."""
        frame = self._spark.createDataFrame(table).coalesce(1)
        types = dict(frame.dtypes)
        frame = frame.selectExpr("*", *(f"{finish_sql(item, types)} AS {quote(item.slot)}" for item in self._stage.aggregates))
        return with_subquery_values(frame, self._stage.subqueries, self._tables)

    def renamed(self, table: pa.Table, arrival: int) -> pa.Table:
        """Without a Spark job: where no item is more than a name."""
        renames = emission_renames(self._stage)
        assert renames is not None, "there are expressions to evaluate"
        columns = {name: table[source] for name, source in renames}
        for name in SYSTEM:
            columns[name] = table[name]
        keys = [name for name, _ in self._stage.keys]
        columns["_key"] = table[keys[0]] if len(keys) == 1 else pa.nulls(table.num_rows, pa.string())
        now = pa.scalar(arrival, UTC_MICROS)
        columns["_event_time"] = _last_instants(self._stage, table[END], now)
        columns["_timestamp"] = pa.chunked_array([pa.repeat(now, table.num_rows)])
        columns[SEQ] = table[SEQ]
        return pa.table(list(columns.values()), names=list(columns))

    def evaluated(self, table: pa.Table, arrival: int) -> pa.Table:
        with strictness(self._spark, self._stage.is_strict):
            return self._select(table, arrival)

    def _select(self, table: pa.Table, arrival: int) -> pa.Table:
        stage = self._stage
        frame = self._with_values(table)
        arrived = f"timestamp_micros({of_batch(arrival, SEQ)})"
        frame = frame.selectExpr(
            "*",
            f"coalesce({_last_instant_sql(stage)}, {arrived}) AS `_event_time`",
            f"{arrived} AS `_timestamp`",
            f"{self._key_sql()} AS `_key`",
        )
        if stage.keeps_headers or stage.output.headers:
            last = f"map_from_entries({quote(LAST_HEADERS)})" if stage.keeps_headers else "CAST(NULL AS MAP<STRING, STRING>)"
            frame = frame.selectExpr("*", f"{last} AS `_headers`")
            frame = frame.selectExpr("*", f"{headers_sql(stage.output.headers, '`_headers`')} AS {_GOES_WITH}")
        if stage.having is not None and not may_emit_again(stage):
            frame = frame.where(to_sql(stage.having))
        if stage.output.order_by and not stage.emit_policy.every_row:
            order = ", ".join([quote(END), quote(START), *map(sort_sql, stage.output.order_by), SEQ])
            frame = frame.selectExpr("*", f"row_number() OVER (ORDER BY {order}) AS _rank")
            frame = frame.selectExpr(f"* EXCEPT ({quote(SEQ)})", f"CAST(_rank AS BIGINT) AS {SEQ}").drop("_rank")
        items = [f"{to_sql(item.expr)} AS {quote(item.name)}" for item in stage.output.items if item.expr is not None]
        names = {item.name.lower() for item in stage.output.items}
        rest = [quote(name) for name in (*SYSTEM, "_event_time", "_timestamp", "_key", SEQ) if name not in names]
        if stage.keeps_headers or stage.output.headers:
            rest.append(f"{_GOES_WITH} AS `_headers`")
        return frame.selectExpr(*items, *rest).toArrow().sort_by(SEQ)

    def _key_sql(self) -> str:
        if self._stage.output.key is not None:
            return to_sql(self._stage.output.key)
        keys = tuple(Slot(name) for name, _ in self._stage.keys if name != self._stage.starts_at)
        return to_sql(joined_key(keys)) if keys else "CAST(NULL AS STRING)"


# A group without a window has no end: its event time is that of the row that changed it last, where someone asks for it, and else, as for
# any row that names none, its arrival.


def _last_instant_sql(stage: Aggregate) -> str:
    """SQL of the event time of an emission, NULL for its arrival."""
    if stage.window is None:
        return quote(LAST_TIME if stage.keeps_time else END)
    return f"timestamp_micros({stage.window.last_instant(SqlTime(f'unix_micros({quote(END)})'))})"


def _last_instants(stage: Aggregate, ends: pa.ChunkedArray, arrival: pa.Scalar) -> pa.ChunkedArray:
    """The same of a table that is at hand."""
    if stage.window is None:
        return pc.fill_null(ends, arrival)
    instants = stage.window.last_instant(pl.Series(ends.cast(pa.int64())))
    return pa.chunked_array([instants.to_arrow()]).cast(UTC_MICROS)


def may_emit_again(stage: Aggregate) -> bool:
    """Whether a group may be emitted more than once for the same window."""
    return stage.lateness > 0 or stage.emit_policy != AT_CLOSE


def emissions_table(emissions: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    """The step's table with the types Spark gave its parts, times as timestamps, and the order as a column."""
    order = pl.int_range(emissions.height, dtype=pl.Int64, eager=True).alias(SEQ)
    table = emissions.drop(SEQ, EPOCH, strict=False).insert_column(0, order).to_arrow()
    columns, names = [], []
    for name in table.column_names:
        column = table[name]
        if name in (START, END):
            column = _known_times(column).cast(UTC_MICROS)
        elif name == EMISSION:
            column = column.cast(pa.string())
        elif name in schema.names and name not in (COUNT, REVISION):
            column = column.cast(schema.field(name).type)
        columns.append(column)
        names.append(name)
    return pa.table(columns, names=names)


def _known_times(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """With NULL for the ends of time, which only groups without a window have."""
    ends = pc.min_max(times).as_py()
    if ends["min"] is None or NEVER < ends["min"] <= ends["max"] < FOREVER:
        return times
    return pc.if_else(pc.and_(pc.less(times, FOREVER), pc.greater(times, NEVER)), times, pa.scalar(None, pa.int64()))
