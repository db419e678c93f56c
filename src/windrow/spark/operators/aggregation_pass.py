"""The executors' part of an aggregation in one batch: one SELECT, one Spark job."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from windrow.plan.physical.scans import has_own_clock
from windrow.plan.physical.strategies import Accounting, Scan
from windrow.plan.sharing import fixed_of
from windrow.plan.stages import Aggregate, Read
from windrow.spark.compile.event_time import own_time_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.watermarks import own_clock
from windrow.spark.operators.base import JobContext
from windrow.spark.operators.partial_aggregation import PartialAggregation, has_headers, moves_clock_sql, partial_aggregation_sql
from windrow.spark.operators.running_totals import RunningTotals
from windrow.spark.operators.single_rows import SingleRows
from windrow.spark.operators.speculative_scan import SpeculativeScan
from windrow.spark.query.runner import LazyRelation
from windrow.spark.row_columns import CLOCK, ROW_WATERMARKS, TIME
from windrow.spark.scan.diverted_rows import unpack_rows
from windrow.spark.scan.row_watermarks import row_watermarks_sql
from windrow.spark.scan.source_partition import source_partition_sql
from windrow.spark.state.backend import Gathered
from windrow.windowing.columns import NEVER


class AggregationPass:
    """The pass of one aggregation, or of the one that stands for several that share it."""

    def __init__(self, context: JobContext, stage: Aggregate) -> None:
        self._context = context
        self._stage = stage
        # What the rows came from in this batch, for those that are set aside.
        self._given: LazyRelation | None = None
        self._own_time_sql: str | None = None
        self._speculative = SpeculativeScan()

    def scan(self, given: LazyRelation, ask: Callable[[LazyRelation], Gathered], run: BatchContext) -> Gathered:
        """Ask for the rows, in the fastest way first where their source has several."""
        source = self._context.plan.of(self._stage.input)
        if source.chosen(Scan) is not Scan.JSON_FILES:
            self._given = given
            return ask(given)
        self._given, found = self._speculative.ask(source.name, given, ask)
        if self._given.scan is not None:
            run.batch.measured.take_way(source.name, self._given.scan)
        return found

    def ask(self, request: PartialAggregation, run: BatchContext, gather: Callable[[Callable[[str], str]], Gathered]) -> Gathered:
        """What the executors say of a batch. They are asked for headers from the batch on in which a row of the source has any."""
        stage = self._stage
        if not stage.keeps_headers or request.takes_headers:
            return gather(lambda view: partial_aggregation_sql(stage, replace(request, view=view)))
        if not run.counters.of(stage.input).has_headers:
            gathered = gather(lambda view: partial_aggregation_sql(stage, replace(request, view=view)))
            if not has_headers(stage, gathered.fates):
                return gathered
            run.counters.of(stage.input).has_headers = True
        return gather(lambda view: partial_aggregation_sql(stage, replace(request, view=view, takes_headers=True)))

    def run_up(self, request: PartialAggregation, rows: LazyRelation, runs: RunningTotals) -> Gathered:
        """Running totals of rows that come one by one."""
        single = SingleRows(self._stage, replace(request, view=rows.source))
        arrived = self._context.queries.table(rows, lambda _: single.sql)
        with ThreadPoolExecutor(1) as beside:
            fates = beside.submit(single.fates, arrived)
            kept = single.kept(arrived)
            totals = None if kept is None else runs.totals(kept, single.sources)
            return Gathered(fates.result(), totals)

    def unpacked(self, table: pa.Table) -> pa.Table:
        """With the rows that were set aside whole again."""
        assert self._given is not None
        source = self._context.job.stage(self._stage.input)
        return unpack_rows(table, self._given, source if isinstance(source, Read) else None)

    def request(self, given: LazyRelation, watermark: int | None, direct: str | None, run: BatchContext) -> PartialAggregation:
        """``direct`` is the source whose accounts the pass does."""
        stage = self._stage
        root, batch_id = self._context.watermarks.root_of(stage), run.batch.batch_id
        rides = direct is not None or has_own_clock(stage)
        return PartialAggregation(
            view="",
            columns=given.columns,
            batch_id=batch_id,
            watermark=watermark,
            partitions=(self._context.partitions.get(root.name) or (0,)) if rides else (),
            partition_sql=source_partition_sql(root) if self._keeps_partitions() else None,
            is_direct=direct is not None,
            own_time=self._own_time(given),
            max_future=root.time.max_future,
            row_watermarks=self._judging_watermarks(root, run) if stage.is_exact else None,
            delay=root.clock.delay if stage.time.delay is None else stage.time.delay,
            evicted=evicted_up_to(stage, run) if self._context.state_backends.may_evict and can_evict(stage) else None,
        )

    def _keeps_partitions(self) -> bool:
        """Whether rows still say which partition of the source they came from; emissions come from none."""
        stage = self._context.job.stage(self._stage.input)
        while not isinstance(stage, Read) and stage.inputs:
            if isinstance(stage, Aggregate):
                return False
            stage = self._context.job.stage(stage.inputs[0])
        return True

    def _own_time(self, given: LazyRelation) -> str | None:
        """SQL of the stage's own event time. The type of what it names is asked once."""
        if self._stage.time.event_time is not None and self._own_time_sql is None:
            self._own_time_sql = own_time_sql(self._stage.time.event_time, given.frame)
        return self._own_time_sql

    def _judging_watermarks(self, root: Read, run: BatchContext) -> tuple[str, str]:
        """SQL of what each row is judged by: its source tells, unless the statement has a clock of its own."""
        stage = self._stage
        if not has_own_clock(stage):
            return ROW_WATERMARKS
        clock = run.before.get(own_clock(stage)) or self._context.watermarks.start(root.name, run.batch.now)
        return row_watermarks_sql(
            clock, source_partition_sql(root), root.clock.idle_timeout, run.batch.now, TIME, moves_clock_sql(stage, root.time.max_future)
        )

    def record_source(self, direct: str | None, partials: pa.Table, partitions: tuple[int, ...], run: BatchContext) -> None:
        if direct is not None:
            run.batch.measured.take_way(direct, Accounting.IN_AGGREGATION)
            self._context.watermarks.advance(direct, greatest_times(partials, partitions), run)
            self._context.ledger.record_source(direct, partials, run.batch.batch_id, run.result)


def can_evict(stage: Aggregate) -> bool:
    """Windows of fixed bounds that are kept for late rows beyond their end."""
    return fixed_of(stage) is not None and stage.lateness > 0 and not stage.is_exact


def evicted_up_to(stage: Aggregate, run: BatchContext) -> int:
    evicted = run.counters.of(stage.name).evicted
    return NEVER if evicted is None else evicted


def greatest_times(partials: pa.Table, partitions: tuple[int, ...]) -> dict[int, int]:
    found = {p: pc.max(partials[f"{CLOCK}{p}"]).as_py() for p in partitions}
    return {p: at for p, at in found.items() if at is not None}
