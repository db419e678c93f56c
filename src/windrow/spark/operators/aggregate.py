"""A stage that groups: its rows go through the executors, its state one step on, and what is due comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ as SOURCE_SEQ
from windrow.model.fate import Fate
from windrow.model.lateness import latest_end_over
from windrow.model.window import DeadLetterLate, IncludeInNext, UpdatePrevious
from windrow.model.window_kinds import CountedKind, MovingKind
from windrow.plan.headers import follows_context
from windrow.plan.physical import RunFacts
from windrow.plan.physical.aggregations import MOST_SHARES
from windrow.plan.physical.scans import has_own_clock
from windrow.plan.physical.strategies import Finish, Merge, Pass, State, Totals
from windrow.plan.stages import Aggregate
from windrow.plan.window_cut import WindowCut
from windrow.spark.execution.batch import BatchContext, WindowActivity
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.ledger_writer import (
    counts_by_fate,
    open_account,
    record_aggregated,
    record_emitted,
    record_late_dead,
    record_late_dropped,
    record_not_passed,
)
from windrow.spark.execution.measurements import Phase
from windrow.spark.execution.watermarks import own_clock
from windrow.spark.internals.arrow_types import declared_arrow_type
from windrow.spark.operators.aggregation_pass import AggregationPass, can_evict, evicted_up_to, greatest_times
from windrow.spark.operators.base import JobContext, Operator
from windrow.spark.operators.emissions import UTC_MICROS, Finisher, emissions_table, may_emit_again
from windrow.spark.operators.limit import limited
from windrow.spark.operators.partial_aggregation import late_corrections, late_drops, traceparents
from windrow.spark.operators.row_lateness import late_for_windows
from windrow.spark.operators.running_totals import RunningTotals, running_totals
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import LazyRelation
from windrow.spark.row_columns import INCLUDED, JUDGED, ROW, ROWS_COUNT
from windrow.spark.scan.diverted_rows import without_judgement
from windrow.spark.state.backend import DriverState, Gathered, StateBackend, kept_rows
from windrow.spark.state.job_state import JobState, having_name
from windrow.windowing.columns import EMISSION, END, RETRACT, REVISION, START
from windrow.windowing.having import EMITS, LET_OUT, RETRACTS, Panes
from windrow.windowing.step import BatchTime


class AggregateOperator(Operator[Aggregate]):
    """Group, slice and aggregate on the executors; merge into state and emit what is due in the step."""

    phase = Phase.AGGREGATE

    def open(self, context: JobContext) -> None:
        super().open(context)
        self._pass = AggregationPass(context, self.stage)
        self._finisher = Finisher(context.spark, self.stage, context.tables)
        self._totals: RunningTotals | None = None
        # Told by the first rows: running totals of other things than numbers are Spark's.
        self._is_not_numeric = False

    @property
    def state_names(self) -> tuple[str, ...]:
        return self.name, having_name(self.name)

    def process(self, batch: BatchContext) -> None:
        stage, source = self.stage, batch.flows.get(self.stage.input)
        rows: pa.Table | None = None
        before = self._tick_before(batch)
        if source is not None:
            which = self.spec.chosen(Pass)
            rows = self._shared_rows(source, before, batch) if which is Pass.SHARED else self._own_rows(source, before, batch)
        watermarks = self.context.watermarks
        if has_own_clock(stage):
            watermarks.advance(watermarks.root_of(stage).name, batch.greatest_times.get(stage.name, {}), batch, own_clock(stage))
        tick = BatchTime(before, self._tick_after(batch), batch.batch.now, evicted=evicted_up_to(stage, batch))
        with batch.batch.measured.phase(Phase.STEP):
            self._step(rows, tick, batch)
        if stage.cut is not None and stage.cut.earlier in batch.flows:
            batch.flows[stage.name] = self._after_earlier(batch.flows.pop(stage.cut.earlier), batch.flows.get(stage.name), stage.cut)

    def _tick_before(self, run: BatchContext) -> int | None:
        return self.context.watermarks.of(self.stage, run.before, run.state.counters)

    def _tick_after(self, run: BatchContext) -> int | None:
        if self.stage.time.on_arrival:
            run.counters.of(self.name).arrival = run.batch.now
        return self.context.watermarks.of(self.stage, run.clocks, run.counters)

    def _own_rows(self, source: Flow, watermark: int | None, run: BatchContext) -> pa.Table | None:
        """The executors' part: one job. Gives the rows for the step and records everything else."""
        stage = self.stage
        direct = self.context.plan.accounts_for(stage.name) if self.spec.chosen(Pass) is Pass.SOURCE else None
        self.took(Pass.OWN if direct is None else Pass.SOURCE, run)
        given = source.as_select(self.context.spark)
        request = self._pass.request(given, watermark, direct, run)
        backend = self._backend(run)
        runs = self._running_totals(given)
        takes_headers = self.spec.chosen(State) is State.EXECUTORS
        types = None if runs is None else runs.types
        request = replace(request, visible=source.columns, takes_headers=takes_headers, row_types=types)
        unmerged_upto = MOST_SHARES if self.spec.chosen(Merge) is Merge.STATE else 0

        def gather(rows: LazyRelation, sql: Callable[[str], str]) -> Gathered:
            return backend.gather(rows, sql, run.batch.batch_id, is_strict=stage.is_strict, unmerged_upto=unmerged_upto)

        def ask(rows: LazyRelation) -> Gathered:
            own_request = replace(request, columns=rows.columns)
            return self._pass.ask(own_request, run, partial(gather, rows)) if runs is None else self._pass.run_up(own_request, rows, runs)

        found = self._pass.scan(given, ask, run)
        if self.spec.choice(Merge) is not None:
            self.took(Merge.EXCHANGE if found.is_merged else Merge.STATE, run)
        if self.spec.choice(Totals) is not None:
            self.took(Totals.SPARK_WINDOW if runs is None else Totals.DRIVER, run)
        partials = self._pass.unpacked(found.fates)
        self._pass.record_source(direct, partials, request.partitions, run)
        if direct is None and request.partitions:
            run.greatest_times[stage.name] = greatest_times(partials, request.partitions)
        self._record_statement(partials, watermark, direct is not None, run)
        return found.rows

    def _running_totals(self, given: LazyRelation) -> RunningTotals | None:
        """Asked once: the columns of a stage are the same in every batch."""
        if self.spec.chosen(Totals) is not Totals.DRIVER or self._is_not_numeric:
            return None
        if self._totals is None:
            self._totals = running_totals(self.stage, given)
            self._is_not_numeric = self._totals is None
        return self._totals

    def _shared_rows(self, source: Flow, watermark: int | None, run: BatchContext) -> pa.Table | None:
        stage = self.stage
        direct = self.context.plan.accounts_for(stage.name)
        self.took(Pass.SHARED, run)
        shared = self.context.shared_passes[stage.name]
        partials = shared.partials(stage, source, watermark, direct, run)
        self._record_statement(partials, watermark, direct is not None, run)
        kept = kept_rows(partials)
        return kept if kept.num_rows else None

    def _record_statement(self, partials: pa.Table, watermark: int | None, is_direct: bool, run: BatchContext) -> None:
        stage, ledger = self.stage, run.result.ledger
        counts = counts_by_fate(partials)
        if not is_direct:
            self.context.ledger.record_statement_fates(stage.statement, stage.input, partials, run.batch.batch_id, run.result)
        included = (pc.sum(partials[INCLUDED]).as_py() or 0) if INCLUDED in partials.column_names else 0
        corrections = late_corrections(stage, partials, watermark)
        record_aggregated(ledger, stage.statement, counts, sum(rows for _, rows in corrections), included)
        run.result.late.take_corrected(stage.statement, corrections)
        late = counts.get(Fate.LATE, 0)
        if not late:
            return
        if not isinstance(stage.late, DeadLetterLate | UpdatePrevious):
            record_late_dropped(ledger, stage.statement, late)
            is_shared = self.spec.chosen(Pass) is Pass.SHARED
            run.result.late.take_dropped(stage.statement, late_drops(stage, partials, watermark, keeps_slices=is_shared))
            return
        self._late(partials.filter(pc.equal(partials[JUDGED], Fate.LATE.value)), run)

    def _late(self, rows: pa.Table, run: BatchContext) -> None:
        """Late rows become dead letters, or the rows of the stream that the statement names."""
        stage = self.stage
        repeated = rows[ROW].take(pa.array([i for i, n in enumerate(rows[ROWS_COUNT].to_pylist()) for _ in range(n)], pa.int64()))
        record_late_dead(run.result.ledger, stage.statement, len(repeated))
        if stage.late_stream is not None and self.context.job.readers_of(stage.late_stream):
            whole = _as_they_came(without_judgement(pa.Table.from_struct_array(repeated.combine_chunks())))
            whole = whole.append_column(SOURCE_SEQ, pa.array(range(whole.num_rows), pa.int64()))
            hidden = {name for name in whole.column_names if name.startswith("_")}
            run.late[stage.name] = Flow(tuple(n for n in whole.column_names if n not in hidden), table=whole)
            return
        for row in repeated.to_pylist():
            late = late_for_windows(stage, row)
            source = stage.input.removesuffix(stage.name.removeprefix(stage.statement))
            run.result.dead_letters.append(DeadLetter(Fate.LATE, source, stage.statement, row, run.batch.batch_id, late=late))

    def _late_by(self, rows: pa.Table) -> Iterator[tuple[int | None, int]]:
        for row, count in zip(rows[ROW].to_pylist(), rows[ROWS_COUNT].to_pylist(), strict=True):
            late = late_for_windows(self.stage, row)
            yield (None if late is None else late.late_by), count

    def _step(self, rows: pa.Table | None, tick: BatchTime, run: BatchContext) -> None:
        stage, ledger = self.stage, run.result.ledger
        open_account(ledger, stage.statement)
        backend = self._backend(run)
        self.took(State.DRIVER if isinstance(backend, DriverState) else State.EXECUTORS, run)
        taken = backend.step(rows, tick, run.batch.batch_id)
        run.steps[stage.name] = taken.given
        if run.batch.producers is not None and taken.given.rows is not None and follows_context(self.context.watermarks.root_of(stage)):
            run.batch.producers.see(traceparents(stage, taken.given.rows))
        if taken.tables is not None:
            run.tables[stage.name] = taken.tables
        if taken.refused is not None:
            refused = self._pass.unpacked(taken.refused)
            count = pc.sum(refused[ROWS_COUNT]).as_py()
            record_not_passed(ledger, stage.statement, count)
            if isinstance(stage.late, DeadLetterLate | UpdatePrevious | IncludeInNext):
                self._late(refused, run)
            else:
                record_late_dropped(ledger, stage.statement, count)
                run.result.late.take_dropped(stage.statement, self._late_by(refused))
        if taken.emissions is None or not taken.emissions.height:
            return
        activity = run.result.windows.setdefault(stage.name, WindowActivity())
        activity.before_having = kinds_of(taken.emissions[EMISSION].to_arrow())
        run.batch.measured.take_emissions(stage.name, taken.emissions)
        emissions = emissions_table(taken.emissions, run.state.schemas[stage.name])
        if stage.starts_at is not None:
            emissions = emissions.set_column(emissions.column_names.index(START), START, emissions[stage.starts_at].cast(UTC_MICROS))
        if stage.having is not None and may_emit_again(stage):
            emissions = self._apply_having(emissions, tick, run)
        if not emissions.num_rows:
            return
        table = self._finished(emissions, run)
        flow = Flow(tuple(item.name for item in stage.output.items), table=table)
        flow = limited(self.context.spark, flow, stage.output.limit, run.counters.of(stage.name))
        assert flow.table is not None
        activity.emitted = kinds_of(flow.table[EMISSION].combine_chunks())
        record_emitted(ledger, stage.statement, flow.table.num_rows, activity.emitted)
        if flow.table.num_rows:
            run.flows[stage.name] = flow

    def _finished(self, emissions: pa.Table, run: BatchContext) -> pa.Table:
        if self.spec.chosen(Finish) is Finish.RENAME:
            self.took(Finish.RENAME, run)
            return self._finisher.renamed(emissions, run.batch.now)
        self.took(Finish.SPARK_SELECT, run)
        return self._finisher.evaluated(emissions, run.batch.now)

    def _after_earlier(self, earlier: Flow, own: Flow | None, cut: WindowCut) -> Flow:
        """The rows of windows that an earlier text keeps, and after them those of this one, in the columns of this one."""
        before = earlier.table
        assert before is not None
        for column in cut.added:
            before = before.append_column(column.name, pa.nulls(before.num_rows, declared_arrow_type(str(column.type))))
        names = [item.name for item in self.stage.output.items]
        hidden = [name for name in before.column_names if name not in (*earlier.columns, *names)]
        before = before.select([*names, *hidden])
        if own is None:
            return Flow(tuple(names), table=before)
        assert own.table is not None
        place = own.table.column_names.index(SOURCE_SEQ)
        later = own.table.set_column(place, SOURCE_SEQ, pc.add(own.table[SOURCE_SEQ], before.num_rows))
        return Flow(own.columns, table=pa.concat_tables([before, later], promote_options="permissive"))

    def found_out(self, facts: RunFacts, state: JobState) -> RunFacts:
        moved = {self.name} if state.counters.buckets(self.name) is not None else set()
        not_numeric = {self.name} if self._is_not_numeric else set()
        return replace(facts, on_executors=facts.on_executors | moved, not_numeric=facts.not_numeric | not_numeric)

    def make_room(self, share: float, run: BatchContext) -> None:
        stage, given = self.stage, run.steps.get(self.name)
        if not can_evict(stage) or given is None or given.tick.after is None or not isinstance(self._backend(run), DriverState):
            return
        upto = max(latest_end_over(given.tick.after, int(stage.lateness * (1 - share))), given.tick.evicted)
        tick = replace(given.tick, evicted=upto)
        rows = run.state.take_schema(stage.name, given.rows)
        before = sum(table.height for table in run.tables.get(stage.name, {}).values())
        run.tables[stage.name] = self.context.steps[stage.name].step(run.state.tables.get(stage.name, {}), rows, tick).state
        run.batch.measured.evicted += max(0, before - sum(table.height for table in run.tables[stage.name].values()))
        run.steps[stage.name] = replace(given, tick=tick)
        run.counters.of(stage.name).evicted = upto

    def watermark_of(self, state: JobState) -> int | None:
        return self.context.watermarks.of(self.stage, state.clocks, state.counters)

    def _backend(self, run: BatchContext) -> StateBackend:
        where, step = self.spec.chosen(State), self.context.steps[self.name]
        assert where is not None, "groups are held somewhere"
        return self.context.state_backends.of(where, self.stage, step, run.state, run.counters, run.batch.batch_id)

    def _apply_having(self, table: pa.Table, tick: BatchTime, run: BatchContext) -> pa.Table:
        """Keep what HAVING lets out, take back what it lets out no more, and number only what is emitted."""
        stage = self.stage
        keys = [name for name, _ in stage.keys]
        bounds = [table[START].cast(pa.int64()), table[END].cast(pa.int64())]
        let_out = self._finisher.let_out(table)
        columns = [*(table[key] for key in keys), *bounds, let_out, table[REVISION]]
        verdicts = pa.table(columns, names=[*keys, START, END, LET_OUT, REVISION])
        given = run.steps[stage.name]
        given.verdicts, given.retention_bound, given.panes = (
            verdicts,
            latest_end_over(tick.watermark_after, stage.lateness),
            _panes_of(stage),
        )
        judged, known = run.state.settle_having(stage.name, verdicts, given.retention_bound, given.panes)
        run.tables[having_name(stage.name)] = known
        kind = pc.if_else(judged[RETRACTS].to_arrow(), RETRACT, table[EMISSION].combine_chunks())
        table = table.set_column(table.column_names.index(EMISSION), EMISSION, kind)
        table = table.set_column(table.column_names.index(REVISION), REVISION, judged[REVISION].to_arrow())
        return table.filter(judged[EMITS].to_arrow())


def _panes_of(stage: Aggregate) -> Panes:
    match stage.window:
        case MovingKind():
            return Panes.MOVING
        case CountedKind():
            return Panes.COUNTED
        case _:
            return Panes.FIXED


def kinds_of(kinds: pa.Array) -> dict[str, int]:
    """How many there are of each.

    >>> kinds_of(pa.array(["final", "late", "final"]))
    {'final': 2, 'late': 1}
    """
    return {one["values"]: one["counts"] for one in pc.value_counts(kinds).to_pylist()}


def _as_they_came(rows: pa.Table) -> pa.Table:
    """Rows that were set aside, in the order in which they arrived: Spark's tasks give them by chance."""
    by = [(name, "ascending") for name in ("_timestamp", "_topic", "_offset", "_partition") if name in rows.column_names]
    return rows.sort_by(by) if by else rows
