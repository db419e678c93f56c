"""One pass for several aggregations: what the executors make of a batch for all of them, and the share of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import polars as pl
import pyarrow as pa

from windrow.model.fate import Fate
from windrow.plan.physical.aggregations import MOST_SHARES
from windrow.plan.physical.renames import part_names
from windrow.plan.physical.strategies import Merge
from windrow.plan.sharing import SharedAggregation, fixed_of
from windrow.plan.stages import Aggregate
from windrow.spark.execution.batch import BatchContext
from windrow.spark.operators.aggregation_pass import AggregationPass, evicted_up_to
from windrow.spark.operators.base import JobContext
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation
from windrow.spark.row_columns import JUDGED, ROW, ROWS_COUNT
from windrow.spark.state.backend import Gathered
from windrow.windowing.columns import COUNT, NEVER, SLICE
from windrow.windowing.lateness import is_over


class SharedPass:
    """The first member that is processed has the executors do their part; the others take theirs from what it got."""

    def __init__(self, context: JobContext, shared: SharedAggregation) -> None:
        self._context = context
        self._shared = shared
        self.own = AggregationPass(context, shared.leader)

    def partials(self, stage: Aggregate, source: Flow, watermark: int | None, direct: str | None, run: BatchContext) -> pa.Table:
        """``stage`` is a member; ``direct`` the source whose accounts the pass does."""
        leader, members = self._shared.leader, self._shared.members
        if leader.name not in run.shared:
            given = source.as_select(self._context.spark)
            evicted = max(evicted_up_to(member, run) for member in members) if self._context.state_backends.may_evict else None
            request = replace(self.own.request(given, watermark, direct, run), keeps_late=True, evicted=evicted)

            are_merged_by_state = all(self._context.plan.of(member.name).chosen(Merge) is Merge.STATE for member in members)
            unmerged_upto = MOST_SHARES if are_merged_by_state else 0

            def gather(rows: LazyRelation, sql: Callable[[str], str]) -> Gathered:
                found = self._context.queries.partials(rows, sql, is_strict=leader.is_strict, unmerged_upto=unmerged_upto)
                return Gathered(found.table, is_merged=found.is_merged)

            def ask(rows: LazyRelation) -> Gathered:
                own_request = replace(request, columns=rows.columns, takes_headers=False)
                return self.own.ask(own_request, run, partial(gather, rows))

            gathered = self.own.scan(given, ask, run)
            for member in members:
                run.batch.measured.take_way(member.name, Merge.EXCHANGE if gathered.is_merged else Merge.STATE)
            run.shared[leader.name] = self.own.unpacked(gathered.fates)
            self.own.record_source(direct, run.shared[leader.name], request.partitions, run)
        return share_of(stage, self._shared, run.shared[leader.name], watermark, evicted_up_to(stage, run))


def share_of(stage: Aggregate, shared: SharedAggregation, partials: pa.Table, watermark: int | None, evicted: int) -> pa.Table:
    """As if it had a pass of its own: its own aggregates, its own slices, and late what is late for its windows."""
    fixed = fixed_of(stage)
    assert fixed is not None, "only fixed windows share"
    at = pl.col(SLICE)
    judging_watermark = NEVER if watermark is None else watermark
    is_gone = is_over(fixed.last_end(at), stage.lateness, judging_watermark) | (fixed.last_end(at) <= evicted)
    is_in_time = (pl.col(JUDGED) == Fate.LATE.value) & ~is_gone
    told = pl.DataFrame({SLICE: pl.from_arrow(partials[SLICE]), JUDGED: pl.from_arrow(partials[JUDGED])}).select(
        fixed.slice_start(at),
        pl.when(is_in_time).then(pl.lit(Fate.OK.value)).otherwise(pl.col(JUDGED)).cast(pl.Int32).alias(JUDGED),
    )
    columns = {name: partials[name] for name, _ in stage.keys}
    columns[SLICE] = pa.chunked_array([told[SLICE].to_arrow()])
    columns[JUDGED] = pa.chunked_array([told[JUDGED].to_arrow()]).cast(partials[JUDGED].type)
    columns.update({name: partials[name] for name in (ROW, COUNT, ROWS_COUNT)})
    by_slot = {item.slot: item for item in shared.leader.aggregates}
    for item in stage.aggregates:
        theirs = part_names(by_slot[shared.slots[stage.name][item.slot]])
        columns.update({own: partials[theirs[part]] for part, own in part_names(item).items()})
    return pa.table(columns)
