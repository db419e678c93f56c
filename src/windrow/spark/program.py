"""One job as a function of a micro-batch: (state before, rows, clock) -> (state after, outputs, dead letters, ledger)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa

from windrow.errors import JobError
from windrow.model.fate import Fate
from windrow.model.window import DropLate
from windrow.observe.ledger import Ledger
from windrow.plan.stages import (
    Aggregate,
    Answer,
    Collect,
    Derive,
    Enrich,
    Explode,
    IntervalJoin,
    Job,
    KeepLatest,
    LateRows,
    LoadTable,
    LookBack,
    Lookup,
    Merge,
    Read,
    Stage,
    Write,
)
from windrow.spark.accounting import PASSED, Accountant, book_filter
from windrow.spark.answers import answer
from windrow.spark.batch import BatchInput, BatchResult, Run
from windrow.spark.carrying import ROW, unpack_rows
from windrow.spark.dead_letters import DeadLetter
from windrow.spark.derive import derive, derive_counted
from windrow.spark.enrich import enrich
from windrow.spark.explode import explode
from windrow.spark.flow import Flow
from windrow.spark.grouping import Grouping
from windrow.spark.homes import HomeRules, Homes
from windrow.spark.interval_join import Joiner
from windrow.spark.job_state import Change, JobState, StepInput
from windrow.spark.keeping import changes_in_order, table_frame
from windrow.spark.limiting import limited
from windrow.spark.look_back import look_back, rows_in_order
from windrow.spark.on_the_way import OnTheWay, counted_stage
from windrow.spark.ordering import needs_order
from windrow.spark.python_functions import register_functions
from windrow.spark.querying import Queries, Select
from windrow.spark.steps import steps_of
from windrow.spark.table_queries import TableQueries
from windrow.spark.tables import ReferenceTables
from windrow.spark.together import collect, merge
from windrow.spark.waiting import WaitingRoom
from windrow.spark.watermarks import Watermarks
from windrow.spark.whole_reads import WholeReads
from windrow.windowing.columns import FOREVER
from windrow.windowing.kept import KEPT
from windrow.windowing.step import Tick
from windrow.windowing.waiting import WAITING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# How much of the time that closed windows are kept for late rows is given up, step by step, when a limit is passed.
_SHARES = (0.25, 0.5, 0.75, 1.0)


class BatchProgram:
    """Built once per run from a job's stages; holds the state that its batches hand on."""

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        partitions: Mapping[str, tuple[int, ...] | None],
        rules: HomeRules | None = None,
        tables: ReferenceTables | None = None,
    ) -> None:
        self.job = job
        self.state = JobState()
        self.steps = steps_of(job)
        self._spark = spark
        register_functions(spark, job.functions)
        self._partitions = partitions
        queries = Queries()
        self.homes = Homes(spark, rules or HomeRules(), queries)
        self._accountant = Accountant(spark, job, queries)
        self.tables = tables or ReferenceTables(spark, job)
        self._table_queries = TableQueries(spark)
        self._whole = WholeReads(job, self._accountant)
        self._needs_order = needs_order(job)
        self._counted = counted_stage(job)
        self.watermarks = Watermarks(job, partitions)
        self._grouping = Grouping(spark, job, partitions, self.steps, self.homes, self.watermarks, self._accountant, self.tables, queries)

    def run(self, batch: BatchInput) -> BatchResult:
        """Take one batch. The state moves on only when the caller commits the change (``commit``)."""
        result = BatchResult(batch.batch_id)
        clocks = {**{read.name: self.watermarks.start(read.name, batch.now) for read in self.job.reads}, **self.state.clocks}
        run = Run(batch, result, self.state, clocks, dict(clocks), dict(self.state.counters))
        self.tables.settle(result)
        for name, codes in batch.replayed.items():
            result.ledger.source(name).take_back(codes)
        sides = {read.name: rows for read in self.job.reads if read.name in self._whole and (rows := self._judged(read, run)) is not None}
        run.sides.update(self._whole.collect(sides, clocks, lambda stage: self._join_tick(stage, run).judged_by))
        for stage in self.job.stages:
            self._take(stage, run)
        for name, flow in run.flows.items():
            if "/" not in name and not isinstance(self.job.stage(name), Read):
                result.outputs.setdefault(name, flow)
        self._keep_to_limits(run)
        self.homes.move_what_is_large(self.job, self.state, run.tables, run.counters, batch.batch_id)
        ledger = Ledger.from_json(self.state.ledger.to_json())
        ledger.add(result.ledger)
        result.change = Change(batch.batch_id, run.steps, run.clocks, run.counters, ledger)
        self._after = run.tables
        self._cached = run.cached
        return result

    def _keep_to_limits(self, run: Run) -> None:
        """With a policy to evict, closed windows that wait for late rows make room, the oldest first. What does not help stops the job."""
        for share in _SHARES if self.homes.may_evict else ():
            try:
                self._check_limits(run)
            except JobError:
                self._grouping.evict(share, run)
            else:
                return
        self._check_limits(run)

    def _check_limits(self, run: Run) -> None:
        self.homes.check_limits(self.steps, {**self.state.tables, **run.tables}, run.counters, run.batch.batch_id)

    def _take(self, stage: Stage, run: Run) -> None:
        match stage:
            case Read():
                self._read(stage, run)
            case Derive():
                self._derive(stage, run)
            case Explode():
                self._explode(stage, run)
            case Answer():
                if stage.input in run.flows:
                    run.flows[stage.name] = answer(self._spark, stage, run.flows[stage.input], self.tables)
            case Aggregate():
                self._grouping.run(stage, run)
            case LookBack():
                self._look_back(stage, run)
            case LoadTable():
                pass
            case Enrich():
                self._enrich(stage, run)
            case IntervalJoin():
                self._join(stage, run)
            case LateRows(name=name, of=of):
                if of in run.late:
                    run.flows[name] = run.late[of]
            case Merge():
                if (merged := merge(self._spark, stage, run.flows)) is not None:
                    run.flows[stage.name] = merged
            case Collect():
                if (collected := collect(self._spark, stage, run.flows)) is not None:
                    run.flows[stage.name] = collected
            case KeepLatest():
                self._keep_latest(stage, run)
            case Write(input=name):
                if name in run.flows:
                    run.result.outputs[name] = run.flows[name]
            case _:
                assert_never(stage)

    def commit(self, result: BatchResult) -> None:
        """The batch is durable: its state is the state."""
        assert result.change is not None
        self.state.tables.update(self._after)
        self.state.settle(result.change)
        for frame in self._cached:
            frame.unpersist()

    def open_windows(self) -> int:
        """Groups and windows that are held. Of a stage that the executors hold, the rows of its state: to count them would be a job."""
        here = self.state.open_windows({name: step for name, step in self.steps.items() if name not in self.homes.distributed})
        return sum(here.values()) + sum(one.rows_held for one in self.homes.distributed.values())

    def _judged(self, read: Read, run: Run) -> Select | None:
        """What a batch brings of a source."""
        rows = run.batch.rows.get(read.name)
        return None if rows is None else self._accountant.judge_at_source(read, rows, run.clocks[read.name], run.batch.now)

    def _read_side(self, read: Read, run: Run) -> None:
        """A source that a join takes whole: its rows are here already."""
        reached: dict[int, int] = {}
        if read.name in run.sides:
            rows, given = run.sides[read.name], run.batch.rows[read.name]
            run.sides[read.name], reached = self._accountant.account_rows(read, rows, given, run.result)
        self.watermarks.advance(read.name, reached, run)

    def _read(self, read: Read, run: Run) -> None:
        if read.name in self._whole:
            self._read_side(read, run)
            return
        is_direct = read.name in self._grouping.direct
        reached: dict[int, int] = {}
        rows = self._judged(read, run)
        if rows is not None:
            if self._is_counted_on_the_way(run):
                run.flows[read.name] = Flow(tuple(column.name for column in read.columns), rows=rows)
                return
            is_costly = len(self.job.readers_of(read.name)) > 1 or read.name in run.batch.costly
            if is_costly and not self._grouping.is_read_once(read.name, run):
                frame = rows.frame.persist()
                run.cached.append(frame)
                rows = Select(frame)
            run.flows[read.name] = Flow(tuple(column.name for column in read.columns), rows=rows)
            if not is_direct:
                reached = self._accountant.account(read, rows, run.clocks[read.name], run.result)
        if rows is None or not is_direct:
            self.watermarks.advance(read.name, reached, run)

    def _is_counted_on_the_way(self, run: Run) -> bool:
        return self._counted is not None and self._counted[1].name in run.batch.counting

    def _derive(self, stage: Derive, run: Run) -> None:
        source = run.flows.get(stage.input)
        if source is None:
            return
        if self._is_counted_on_the_way(run):
            self._derive_counted(stage, source, run)
            return
        is_from_read = any(read.name == stage.input for read in self.job.reads)
        if not is_from_read:
            self._accountant.account_filter(stage, source, run.result.ledger)
        flow = derive(self._spark, stage, source)
        run.flows[stage.name] = limited(self._spark, flow, stage.limit, run.counters, stage.name)

    def _derive_counted(self, stage: Derive, source: Flow, run: Run) -> None:
        """The accounts of the source wait until its rows were read by the sink."""
        assert self._counted is not None
        assert source.rows is not None
        read, given = self._counted[0], source.rows
        flow = derive_counted(self._spark, stage, source, self._accountant.marks(read, tuple(given.schema.names), run.clocks[read.name]))
        assert flow.frame is not None
        books = OnTheWay(flow.frame, lambda found: self._accountant.refuse_failed(read, found))
        run.flows[stage.name] = replace(flow, books=books)

        def settle() -> None:
            if books.found is None:
                books.read_alone()
            assert books.found is not None
            assert run.result.change is not None
            own = BatchResult(run.batch.batch_id)
            reached = self._accountant.book(read, {stage.name: PASSED}, books.found, given, own)
            run.result.ledger.add(own.ledger)
            run.result.change.ledger.add(own.ledger)
            run.result.dead_letters.extend(own.dead_letters)
            self.watermarks.advance(read.name, reached, run)

        run.result.settle = settle

    def _explode(self, stage: Explode, run: Run) -> None:
        source = run.flows.get(stage.input)
        if source is None:
            return
        found = explode(self._spark, stage, source, needs_order=self._needs_order)
        account = run.result.ledger.statement(stage.name)
        account.rows_in += found.rows
        account.passed += found.gave
        account.filtered += found.rows - found.gave
        account.emitted += found.given
        run.flows[stage.name] = found.flow

    def _look_back(self, stage: LookBack, run: Run) -> None:
        source = run.flows.get(stage.input)
        if source is None:
            return
        first = run.counters.get(stage.name, 0)
        rows = rows_in_order(stage, source, self._spark, first)
        self._accountant.book_look_back(stage, source, rows.num_rows, run.result.ledger)
        if not rows.num_rows:
            return
        run.counters[stage.name] = first + rows.num_rows
        kept = self.state.tables.get(stage.name, {}).get(KEPT)
        flow = look_back(stage, self._spark, kept, rows, source.columns, self.tables)
        run.flows[stage.name] = limited(self._spark, flow, stage.limit, run.counters, f"{stage.name}@limit")
        if not stage.keeps_rows:
            return
        self._keep(stage.name, rows, run)

    def _keep(self, name: str, rows: pa.Table | None, run: Run) -> None:
        """Rows for the state of a stage that knows no windows: its step is asked when something changes, not by the watermark."""
        tick = Tick(None, None, run.batch.now)
        outcome = self.steps[name].step(self.state.tables.get(name, {}), self.state.take_schema(name, rows), tick)
        run.tables[name] = outcome.state
        run.steps[name] = StepInput(tick, rows)

    def _enrich(self, stage: Enrich, run: Run) -> None:
        source = run.flows.get(stage.stream.input)
        if stage.patience is not None:
            self._wait(stage, source, run)
            return
        if source is None:
            return
        found = enrich(self._spark, stage, source, partial(self._looked_up, stage=stage, run=run), self.tables)
        run.flows[stage.name] = found.flow
        if found.total is not None:
            book_filter(run.result.ledger, stage.name, found.total, found.total - found.skipped)

    def _wait(self, stage: Enrich, source: Flow | None, run: Run) -> None:
        first = run.counters.get(stage.name, 0)
        room = WaitingRoom(self._spark, stage, self.state.tables.get(stage.name, {}).get(WAITING), self.state.schemas.get(stage.name))
        table = partial(self._looked_up, stage=stage, run=run)
        waited = room.run(source, first, run.batch.now, table, self.tables, is_end=run.batch.is_end)
        run.counters[stage.name] = first + waited.taken
        if waited.found is not None:
            run.flows[stage.name] = waited.found.flow
            if waited.found.total is not None:
                book_filter(run.result.ledger, stage.name, waited.found.total, waited.found.total - waited.found.skipped)
        if waited.change is not None:
            self._keep(stage.name, waited.change, run)

    def _looked_up(self, lookup: Lookup, stage: Enrich, run: Run) -> DataFrame:
        if lookup.rows is None:
            return self._table(lookup.table.input, run)
        return self._table_queries.rows(lookup.rows, lambda name: self._table(name, run), is_strict=stage.is_strict)

    def _table(self, name: str, run: Run) -> DataFrame:
        stage = self.job.stage(name)
        if not isinstance(stage, KeepLatest):
            return self.tables.frame(name)
        held = run.tables.get(name, self.state.tables.get(name, {}))
        return table_frame(self._spark, stage, held, self.state.schemas.get(name))

    def _keep_latest(self, stage: KeepLatest, run: Run) -> None:
        source = run.flows.get(stage.input)
        rows = None if source is None else changes_in_order(source, self._spark)
        if source is not None:
            run.flows[stage.name] = Flow(source.columns, table=rows)
        if rows is None and stage.ttl is None:
            return
        self._keep(stage.name, rows, run)

    def _join_tick(self, stage: IntervalJoin, run: Run) -> Tick:
        before, after = (self.watermarks.least(stage.name, clocks) for clocks in (run.before, run.clocks))
        return Tick(_behind(before, stage.lag), _behind(after, stage.lag), run.batch.now)

    def _join(self, stage: IntervalJoin, run: Run) -> None:
        joiner = Joiner(self._spark, stage, self.state, run.counters)
        left, right = (run.sides.get(side.input, run.flows.get(side.input)) for side in (stage.left, stage.right))
        found = joiner.run(left, right, self._join_tick(stage, run))
        run.steps.update(found.steps)
        run.tables.update(found.tables)
        account = run.result.ledger.statement(stage.name)
        account.rows_in += found.taken
        account.passed += found.taken - sum(map(len, found.late.values()))
        for index, texts in found.late.items():
            self._late_for_join(stage, (stage.left, stage.right)[index].input, texts, run)
        if found.flow is not None:
            assert found.flow.table is not None
            account.emitted += found.flow.table.num_rows
            run.flows[stage.name] = found.flow

    def _late_for_join(self, stage: IntervalJoin, source: str, texts: pa.ChunkedArray, run: Run) -> None:
        account = run.result.ledger.statement(stage.name)
        if not len(texts):
            return
        if isinstance(stage.late, DropLate):
            account.dropped[Fate.LATE.code] += len(texts)
            return
        given = run.batch.rows[source] if source in run.sides else run.flows[source].as_select(self._spark)
        origin = self.job.stage(source)
        rows = unpack_rows(pa.table({ROW: texts}), given, origin if isinstance(origin, Read) else None)[ROW].to_pylist()
        account.dead[Fate.LATE.code] += len(rows)
        statement = stage.name.split("/")[0]
        why = None if stage.inside is not None else "the row is behind the watermark, and nothing can be joined with it any more"
        run.result.dead_letters.extend(DeadLetter(Fate.LATE, source, statement, row, run.batch.batch_id, why) for row in rows)


def _behind(watermark: int | None, lag: int) -> int | None:
    return watermark if watermark is None or watermark >= FOREVER else watermark - lag
