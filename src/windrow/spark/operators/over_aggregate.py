"""OVER in a batch: each row is looked at with the rows of its partition that arrived before it, and no others.

So the result does not depend on how rows were cut into batches, whatever order the call itself asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.connectors.runtime import SEQ
from windrow.model.expr import Frame, Over
from windrow.plan.physical.strategies import Over as OverWay
from windrow.plan.physical.strategies import Strategy
from windrow.plan.stages import OverAggregate, OverCalls
from windrow.spark.compile.expressions import frame_sql, sort_sql, to_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import record_limited
from windrow.spark.execution.measurements import Phase
from windrow.spark.operators.base import Operator
from windrow.spark.operators.filter_project import project
from windrow.spark.operators.limit import limited
from windrow.spark.operators.table_subquery import with_subquery_values
from windrow.spark.query.flow import Flow
from windrow.spark.row_columns import FATE, PLACE
from windrow.spark.state.state_file import frame_of
from windrow.spark.tables.reference_tables import ReferenceTables
from windrow.windowing.row_buffer import KEPT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDER = "_arrived"  # place in the arrival order of the whole stream
IS_NEW = "_is_new"
_CURRENT = "_current"
_ROW_BY_ROW = {"ROW_NUMBER", "NTILE", "LAG", "LEAD"}
_RANKINGS = {"ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE"}


class OverAggregateOperator(Operator[OverAggregate]):
    phase = Phase.STEP

    def process(self, batch: BatchContext) -> None:
        stage, source = self.stage, batch.flows.get(self.stage.input)
        if source is None:
            return
        spark = self.context.spark
        first = batch.counters.of(stage.name).numbered
        rows, ledger = rows_in_order(stage, source, spark, first), batch.result.ledger
        if not rows.num_rows:
            self.context.ledger.record_over(stage, source, rows.num_rows, 0, ledger)
            return
        batch.counters.of(stage.name).take_numbers(rows.num_rows)
        kept = batch.state.tables.get(stage.name, {}).get(KEPT)
        ways = self._ways(kept, rows, batch)
        flow = over_aggregate(stage, ways, spark, kept, rows, source.columns, self.context.tables)
        assert flow.table is not None
        self.context.ledger.record_over(stage, source, rows.num_rows, flow.table.num_rows, ledger)
        limited_flow = limited(spark, flow, stage.output.limit, batch.counters.of(stage.name))
        record_limited(ledger, stage.name, limited_flow)
        batch.flows[stage.name] = limited_flow
        if stage.keeps_rows:
            self.keep(rows, batch)

    def _ways(self, kept: pl.DataFrame | None, rows: pa.Table, batch: BatchContext) -> list[Strategy]:
        """How each group of calls is answered; of some, the order of the rows tells."""
        ways = []
        for index, (group, choice) in enumerate(zip(self.stage.over_calls, self.spec.choices_of(OverWay), strict=True)):
            way = choice.strategy
            if choice.otherwise is not None and not arrived_in_order(index, group, kept, rows):
                way = choice.otherwise
            self.took(way, batch)
            ways.append(way)
        return ways


def rows_in_order(stage: OverAggregate, source: Flow, spark: SparkSession, first: int) -> pa.Table:
    """The batch's rows after WHERE, numbered on from ``first`` in arrival order, with the keys of every group of calls."""
    frame = source.as_frame(spark)
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0").drop(FATE, "_raw_text")
    if stage.where is not None:
        frame = frame.where(to_sql(stage.where))
    keys = [f"{to_sql(key)} AS {key_name(i, j)}" for i, group in enumerate(stage.over_calls) for j, key in enumerate(group.partition_by)]
    orders = [
        f"{to_sql(group.calls[0][1].spec.order_by[0].expr)} AS {order_name(i)}"
        for i, group in enumerate(stage.over_calls)
        if group.calls[0][1].spec.order_by
    ]
    table = frame.selectExpr("*", *keys, *orders).toArrow()
    if SEQ in table.column_names:
        table = table.sort_by(SEQ).drop_columns([SEQ])
    return table.append_column(ORDER, pa.array(range(first, first + table.num_rows), pa.int64()))


def key_name(group: int, key: int) -> str:
    return f"_l{group}k{key}"


def over_aggregate(
    stage: OverAggregate,
    ways: Sequence[Strategy],
    spark: SparkSession,
    kept: pl.DataFrame | None,
    rows: pa.Table,
    visible: tuple[str, ...],
    tables: ReferenceTables,
) -> Flow:
    """The output rows of a batch. ``ways`` has one for each group of calls; ``kept`` are the rows held from before."""
    frame = spark.createDataFrame(rows).coalesce(1).selectExpr("*", f"true AS {IS_NEW}")
    everything = frame
    if kept is not None and kept.height:
        held = kept.select(rows.column_names).to_arrow().cast(rows.schema)
        old = spark.createDataFrame(held).coalesce(1).selectExpr("*", f"false AS {IS_NEW}")
        everything = old.unionByName(frame)
    result = everything.where(IS_NEW)
    by_way: dict[Strategy, list[tuple[int, OverCalls]]] = {way: [] for way in OverWay}
    for index, (group, way) in enumerate(zip(stage.over_calls, ways, strict=True)):
        by_way[way].append((index, group))
    plain = [f"{call} AS {slot}" for index, group in by_way[OverWay.ARRIVAL_ORDER] for slot, call in _calls_in_turn(index, group)]
    if plain:
        result = everything.selectExpr("*", *plain).where(IS_NEW)
    together = [f"{_call_at_once(over, index, group)} AS {slot}" for index, group in by_way[OverWay.EMISSION] for slot, over in group.calls]
    result = result.selectExpr("*", *together)
    for index, group in by_way[OverWay.PAIRS]:
        result = result.join(_over_result(index, group, everything), on=ORDER, how="left")
    result = with_subquery_values(result, stage.subqueries, tables)
    if stage.qualify is not None:
        result = result.where(to_sql(stage.qualify))
    projected, names = project(result.withColumnRenamed(ORDER, SEQ), stage, visible)
    return Flow(tuple(names), table=projected.toArrow().sort_by(SEQ))


def arrived_in_order(index: int, group: OverCalls, kept: pl.DataFrame | None, rows: pa.Table) -> bool:
    """Whether the order that the calls ask for is the order in which the rows arrived, so that no row ever sees a later one."""
    keys = [key_name(index, j) for j in range(len(group.partition_by))]
    place = order_name(index)
    fresh = frame_of(rows.select([*keys, place, ORDER]))
    every = fresh if kept is None or not kept.height else pl.concat([kept.select([*keys, place, ORDER]), fresh], how="vertical_relaxed")
    before = pl.col(place).shift(1).over(keys, order_by=ORDER) if keys else pl.col(place).sort_by(ORDER).shift(1)
    current = pl.col(place) if keys else pl.col(place).sort_by(ORDER)
    return bool(every.select(((current >= before) | before.is_null()).all()).item()) and not every[place].null_count()


def order_name(group: int) -> str:
    return f"_l{group}o"


def _calls_in_turn(index: int, group: OverCalls) -> list[tuple[str, str]]:
    keys = ", ".join(key_name(index, j) for j in range(len(group.partition_by))) or "1"
    return [(slot, _call_in_turn(over, group.buffer, f"PARTITION BY {keys} ORDER BY {ORDER}")) for slot, over in group.calls]


def _call_in_turn(over: Over, buffer: int | None, over_what: str) -> str:
    name, call = over.call.name.upper(), to_sql(over.call)
    default = to_sql(over.call.args[2]) if len(over.call.args) > 2 else "NULL"
    if name == "LEAD":
        return default
    if name == "LAG":
        offset = to_sql(over.call.args[1]) if len(over.call.args) > 1 else "1"
        nulls = " IGNORE NULLS" if over.call.ignore_nulls else ""
        found = f"{call}{nulls} OVER ({over_what})"
        return found if buffer is None else f"CASE WHEN {offset} < {buffer} THEN {found} ELSE {default} END"
    if name == "ROW_NUMBER":
        return f"{call} OVER ({over_what})" if buffer is None else f"least({call} OVER ({over_what}), {buffer})"
    frame = over.spec.frame or Frame(None, 0)
    start = frame.start if buffer is None else max(-(buffer - 1), frame.start if frame.start is not None else -(buffer - 1))
    end = 0 if frame.end is None else min(frame.end, 0)
    nulls = " IGNORE NULLS" if over.call.ignore_nulls else ""
    return f"{call}{nulls} OVER ({over_what} {frame_sql(Frame(start, end))})"


def _call_at_once(over: Over, index: int, group: OverCalls) -> str:
    """A call over rows that came out together; where the order leaves a choice, they stand as they came."""
    keys = ", ".join(key_name(index, j) for j in range(len(group.partition_by)))
    name, frame = over.call.name.upper(), over.spec.frame
    order = [sort_sql(key) for key in over.spec.order_by]
    if name in _ROW_BY_ROW or (frame is not None and not frame.is_range):
        order.append(ORDER)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    framed = f" {frame_sql(frame)}" if frame is not None and name not in _RANKINGS | {"LAG", "LEAD"} else ""
    nulls = " IGNORE NULLS" if over.call.ignore_nulls else ""
    return f"{to_sql(over.call)}{nulls} OVER (PARTITION BY {keys}{ordered}{framed})"


def _over_result(index: int, group: OverCalls, everything: DataFrame) -> DataFrame:
    """Pair each new row with the rows it can see, call the functions over them, and keep the row's own value."""
    keys = ", ".join(key_name(index, j) for j in range(len(group.partition_by))) or "1"
    placed = everything.selectExpr("*", f"row_number() OVER (PARTITION BY {keys} ORDER BY {ORDER}) AS {PLACE}")
    now = placed.where(IS_NEW).selectExpr(
        f"{ORDER} AS {_CURRENT}", f"{PLACE} AS _until", *(f"{key_name(index, j)} AS _n{j}" for j in range(len(group.partition_by)))
    )
    same = " AND ".join(["true", *(f"{key_name(index, j)} <=> _n{j}" for j in range(len(group.partition_by)))])
    reach = f"{PLACE} <= _until" + ("" if group.buffer is None else f" AND {PLACE} > _until - {group.buffer}")
    from pyspark.sql import functions

    seen = now.join(placed, functions.expr(f"{same} AND {reach}"))
    calls = [f"{_call(over)} AS {slot}" for slot, over in group.calls]
    return seen.selectExpr(_CURRENT, ORDER, *calls).where(f"{ORDER} = {_CURRENT}").drop(_CURRENT)


def _call(over: Over) -> str:
    """A call over what a row sees. There is nothing after it, so LEAD gives its default."""
    name = over.call.name.upper()
    if name == "LEAD":
        return to_sql(over.call.args[2]) if len(over.call.args) > 2 else "NULL"
    order = ", ".join(map(sort_sql, over.spec.order_by)) or ORDER
    frame = ""
    if over.spec.frame is not None and name not in _RANKINGS | {"LAG"}:
        frame = " " + frame_sql(over.spec.frame)
    nulls = " IGNORE NULLS" if over.call.ignore_nulls else ""
    return f"{to_sql(over.call)}{nulls} OVER (PARTITION BY {_CURRENT} ORDER BY {order}{frame})"
