"""One job as a function of a micro-batch: (state before, rows, clock) -> (state after, outputs, dead letters, ledger)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ as SOURCE_SEQ
from windrow.model.fate import Fate
from windrow.model.window import DeadLetterLate, IncludeInNext, UpdatePrevious
from windrow.observe.ledger import Ledger
from windrow.plan.stages import (
    Aggregate,
    Answer,
    Derive,
    Enrich,
    Explode,
    IntervalJoin,
    Job,
    LateRows,
    LoadTable,
    LookBack,
    Merge,
    Read,
    Write,
)
from windrow.spark.accounting import Accountant, book_filter
from windrow.spark.answers import answer
from windrow.spark.dead_letters import DeadLetter
from windrow.spark.derive import derive
from windrow.spark.emissions import Finisher, emissions_table, speaks_again
from windrow.spark.enrich import enrich
from windrow.spark.event_time import own_time_sql
from windrow.spark.explode import explode
from windrow.spark.feeds import CLOCK, INCLUDED, ROW, ROWS_COUNT, FeedRequest, feed_sql, late_corrected
from windrow.spark.flow import Flow
from windrow.spark.interval_join import Joiner, side_steps
from windrow.spark.job_state import Change, JobState, StepInput, having_name
from windrow.spark.look_back import look_back, rows_in_order
from windrow.spark.ordering import needs_order
from windrow.spark.querying import query
from windrow.spark.steps import build_step
from windrow.spark.tables import ReferenceTables
from windrow.windowing.clock import Clock
from windrow.windowing.columns import EMISSION, END, FOREVER, RETRACT, REVISION, START
from windrow.windowing.having import LET_OUT, RETRACTS, SPEAKS
from windrow.windowing.kept import KEPT
from windrow.windowing.sessions import LATE_ID
from windrow.windowing.step import Tables, Tick, WindowStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Up to so many partitions, their clocks ride along as columns of the same job.
MOST_CLOCK_COLUMNS = 8


@dataclass(frozen=True)
class BatchInput:
    """A micro-batch. A source that brought nothing may be missing. ``now`` is its arrival time in microseconds."""

    batch_id: int
    frames: Mapping[str, DataFrame]
    now: int
    is_end: bool = False
    force_watermark: int | None = None


@dataclass
class BatchResult:
    """What a batch gave. Outputs are by statement, in the order of the plan."""

    batch_id: int
    outputs: dict[str, Flow] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    change: Change | None = None


class BatchProgram:
    """Built once per run from a job's stages; holds the state that its batches hand on."""

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        partitions: Mapping[str, tuple[int, ...] | None],
        state: JobState | None = None,
        tables: ReferenceTables | None = None,
    ) -> None:
        self.job = job
        self.state = state or JobState()
        stateful = [s for s in job.stages if isinstance(s, Aggregate) or (isinstance(s, LookBack) and s.keeps_rows)]
        self.steps: dict[str, WindowStep] = {stage.name: build_step(stage) for stage in stateful}
        self._spark = spark
        self._partitions = partitions
        for join in job.stages:
            if isinstance(join, IntervalJoin):
                self.steps.update(side_steps(join))
        self._accountant = Accountant(spark, job)
        self.tables = tables or ReferenceTables(spark, job)
        self._finishers = {s.name: Finisher(spark, s, self.tables) for s in job.stages if isinstance(s, Aggregate)}
        self._needs_order = needs_order(job)
        self._roots = _roots(job)
        self._held_back = _held_back(job)
        self._direct = {r.name: s.name for r in job.reads for s in [self._sole_aggregate(r)] if s is not None}

    def _sole_aggregate(self, read: Read) -> Aggregate | None:
        """The stage whose job can do the source's accounts on the way: its only reader, if its time is the source's own."""
        readers = self.job.readers_of(read.name)
        known = self._partitions.get(read.name)
        if len(readers) != 1 or known is None or len(known) > MOST_CLOCK_COLUMNS:
            return None
        stage = readers[0]
        return stage if isinstance(stage, Aggregate) and not stage.on_arrival and not _has_own_clock(stage) else None

    def run(self, batch: BatchInput) -> BatchResult:
        """Take one batch. The state moves on only when the caller commits the change (``commit``)."""
        result = BatchResult(batch.batch_id)
        run = _Run(batch, result, dict(self.state.clocks), dict(self.state.counters))
        for read in self.job.reads:
            run.clocks.setdefault(read.name, Clock.start(self._partitions.get(read.name) or (), batch.now))
        self._before = dict(run.clocks)
        self.tables.settle(result)
        for stage in self.job.stages:
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
                    self._aggregate(stage, run)
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
                    self._merge(stage, run)
                case Write(input=name):
                    if name in run.flows:
                        result.outputs[name] = run.flows[name]
                case _:
                    assert_never(stage)
        for name, flow in run.flows.items():
            if "/" not in name and not isinstance(self.job.stage(name), Read):
                result.outputs.setdefault(name, flow)
        ledger = Ledger.from_json(self.state.ledger.to_json())
        ledger.add(result.ledger)
        result.change = Change(batch.batch_id, run.steps, run.clocks, run.counters, ledger)
        self._after = run.tables
        self._cached = run.cached
        return result

    def commit(self, result: BatchResult) -> None:
        """The batch is durable: its state is the state."""
        assert result.change is not None
        self.state.tables.update(self._after)
        self.state.settle(result.change)
        for frame in self._cached:
            frame.unpersist()

    def watermark_of(self, stage: Aggregate, clocks: Mapping[str, Clock]) -> int | None:
        """The least over the stage's sources, each with the delay the stage or the source states."""
        if _has_own_clock(stage):
            own = clocks.get(_own_clock(stage))
            return None if own is None else own.watermark(self._root_of(stage).clock.delay if stage.delay is None else stage.delay)
        return self._least_watermark(stage.name, clocks, stage.delay)

    def _least_watermark(self, name: str, clocks: Mapping[str, Clock], delay: int | None = None) -> int | None:
        """The least over the sources of a stage, held back for what joins before it may still let out."""
        marks = []
        for root in self._roots[name]:
            read = self.job.stage(root)
            assert isinstance(read, Read)
            clock = clocks.get(root)
            marks.append(None if clock is None else clock.watermark(read.clock.delay if delay is None else delay))
        if not marks or None in marks:
            return None
        least = min(mark for mark in marks if mark is not None)
        return least if least >= FOREVER else least - self._held_back[name]

    def _root_of(self, stage: Aggregate) -> Read:
        read = self.job.stage(self._roots[stage.name][0])
        assert isinstance(read, Read)
        return read

    def _read(self, read: Read, run: _Run) -> None:
        frame = run.batch.frames.get(read.name)
        is_direct = read.name in self._direct
        reached: dict[int, int] = {}
        if frame is not None:
            frame = self._accountant.judge_at_source(read, frame, run.clocks[read.name])
            if len(self.job.readers_of(read.name)) > 1:
                frame = frame.persist()
                run.cached.append(frame)
            run.flows[read.name] = Flow(tuple(column.name for column in read.columns), frame)
            if not is_direct:
                reached = self._accountant.account(read, frame, run.batch.batch_id, run.result)
        if frame is None or not is_direct:
            self._advance(read.name, reached, run)

    def _advance(self, name: str, reached: Mapping[int, int], run: _Run, clock_name: str | None = None) -> None:
        read = self.job.stage(name)
        assert isinstance(read, Read)
        key = clock_name or name
        clock = run.clocks.get(key) or Clock.start(self._partitions.get(name) or (), run.batch.now)
        clock = clock.advance(reached, run.batch.now, read.clock.idle_timeout)
        if run.batch.force_watermark is not None:
            clock = clock.force(run.batch.force_watermark)
        run.clocks[key] = clock.end() if run.batch.is_end else clock

    def _derive(self, stage: Derive, run: _Run) -> None:
        source = run.flows.get(stage.input)
        if source is None:
            return
        is_from_read = any(read.name == stage.input for read in self.job.reads)
        if not is_from_read:
            self._accountant.account_filter(stage, source, run.result.ledger)
        flow = derive(self._spark, stage, source)
        if stage.limit is not None:
            flow = self._limit(stage, flow, run, stage.name)
        run.flows[stage.name] = flow

    def _explode(self, stage: Explode, run: _Run) -> None:
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

    def _limit(self, stage: Derive | Aggregate | LookBack, flow: Flow, run: _Run, counter: str) -> Flow:
        """LIMIT counts over the life of the stream, in input order."""
        assert stage.limit is not None
        left = max(0, stage.limit - run.counters.get(counter, 0))
        table = flow.table
        if table is None:
            frame = flow.as_frame(self._spark)
            table = (frame.orderBy(SOURCE_SEQ) if SOURCE_SEQ in frame.columns else frame).limit(left).toArrow()
        table = table.slice(0, left)
        run.counters[counter] = run.counters.get(counter, 0) + table.num_rows
        return Flow(flow.columns, table=table)

    def _look_back(self, stage: LookBack, run: _Run) -> None:
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
        run.flows[stage.name] = flow if stage.limit is None else self._limit(stage, flow, run, f"{stage.name}@limit")
        if not stage.keeps_rows:
            return
        tick = Tick(None, None, run.batch.now)
        outcome = self.steps[stage.name].step(self.state.tables.get(stage.name, {}), self.state.take_schema(stage.name, rows), tick)
        run.tables[stage.name] = outcome.state
        run.steps[stage.name] = StepInput(tick, rows)

    def _enrich(self, stage: Enrich, run: _Run) -> None:
        source = run.flows.get(stage.stream.input)
        if source is None:
            return
        found = enrich(self._spark, stage, source, self.tables)
        run.flows[stage.name] = found.flow
        if found.total is not None:
            book_filter(run.result.ledger, stage.name, found.total, found.total - found.skipped)

    def _join(self, stage: IntervalJoin, run: _Run) -> None:
        before, after = (self._least_watermark(stage.name, clocks) for clocks in (self._before, run.clocks))
        tick = Tick(_behind(before, stage.lag), _behind(after, stage.lag), run.batch.now)
        joiner = Joiner(self._spark, stage, self.state, run.counters)
        found = joiner.run(run.flows.get(stage.left.input), run.flows.get(stage.right.input), tick)
        run.steps.update(found.steps)
        run.tables.update(found.tables)
        account = run.result.ledger.statement(stage.name)
        account.rows_in += found.taken
        account.passed += found.taken - found.late
        if found.late:
            account.dropped[Fate.LATE.code] += found.late
        if found.flow is not None:
            assert found.flow.table is not None
            account.emitted += found.flow.table.num_rows
            run.flows[stage.name] = found.flow

    def _merge(self, stage: Merge, run: _Run) -> None:
        there = [run.flows[name] for name in stage.parts if name in run.flows]
        if not there:
            return
        columns = stage.columns or there[0].columns
        # By position for what the user sees, by name for what travels along.
        frames = [flow.as_frame(self._spark).withColumnsRenamed(dict(zip(flow.columns, columns, strict=True))) for flow in there]
        merged = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
        run.flows[stage.name] = Flow(columns, merged)

    def _aggregate(self, stage: Aggregate, run: _Run) -> None:
        source = run.flows.get(stage.input)
        direct = next((name for name, target in self._direct.items() if target == stage.name), None)
        rows: pa.Table | None = None
        before = self._tick_before(stage)
        if source is not None:
            rows = self._feed(stage, source, before, direct, run)
        if _has_own_clock(stage):
            self._advance(self._root_of(stage).name, run.reached.get(stage.name, {}), run, _own_clock(stage))
        tick = Tick(before, self._tick_after(stage, run), run.batch.now)
        self._step(stage, rows, tick, run)

    def _tick_before(self, stage: Aggregate) -> int | None:
        if stage.on_arrival:
            return self.state.counters.get(f"{stage.name}@arrival")
        return self.watermark_of(stage, self._before)

    def _tick_after(self, stage: Aggregate, run: _Run) -> int | None:
        if not stage.on_arrival:
            return self.watermark_of(stage, run.clocks)
        run.counters[f"{stage.name}@arrival"] = run.batch.now
        return FOREVER if run.batch.is_end else run.batch.now

    def _feed(self, stage: Aggregate, source: Flow, watermark: int | None, direct: str | None, run: _Run) -> pa.Table | None:
        """The executors' part: one job. Gives the rows for the step and books everything else."""
        frame = source.as_frame(self._spark)
        root = self._root_of(stage)
        rides = direct is not None or _has_own_clock(stage)
        request = FeedRequest(
            view="",
            columns=tuple(frame.columns),
            batch_id=run.batch.batch_id,
            watermark=watermark,
            partitions=(self._partitions.get(root.name) or (0,)) if rides else (),
            is_direct=direct is not None,
            own_time=None if stage.time is None else own_time_sql(stage.time, frame),
            max_future=root.time.max_future,
        )
        fed = query(frame, lambda view: feed_sql(stage, replace(request, view=view)), is_strict=stage.is_strict)
        if direct is not None:
            self._advance(direct, _greatest(fed, request.partitions), run)
            self._accountant.book_source(direct, fed, run.batch.batch_id, run.result)
        elif rides:
            run.reached[stage.name] = _greatest(fed, request.partitions)
        self._book_statement(stage, fed, watermark, direct is not None, run)
        kept = fed.filter(pc.equal(fed["_judged"], Fate.OK.value))
        kept = kept.drop_columns([c for c in kept.column_names if c in ("_judged", INCLUDED) or c.startswith(CLOCK)])
        return kept if kept.num_rows else None

    def _book_statement(self, stage: Aggregate, fed: pa.Table, watermark: int | None, is_direct: bool, run: _Run) -> None:
        account = run.result.ledger.statement(stage.name)
        counts = _counts_by_fate(fed)
        if not is_direct:
            self._accountant.book_statement_fates(stage.name, stage.input, fed, run.batch.batch_id, run.result)
        account.passed += counts.get(Fate.OK, 0)
        account.filtered += counts.get(Fate.FILTERED, 0)
        account.late_corrected += late_corrected(stage, fed, watermark)
        account.late_included += (pc.sum(fed[INCLUDED]).as_py() or 0) if INCLUDED in fed.column_names else 0
        late = counts.get(Fate.LATE, 0)
        account.rows_in += counts.get(Fate.OK, 0) + counts.get(Fate.FILTERED, 0) + late
        if not late:
            return
        if not isinstance(stage.late, DeadLetterLate | UpdatePrevious):
            account.dropped[Fate.LATE.code] += late
            return
        self._late(stage, fed.filter(pc.equal(fed["_judged"], Fate.LATE.value)), run)

    def _late(self, stage: Aggregate, rows: pa.Table, run: _Run) -> None:
        """Late rows become dead letters, or the rows of the stream that the statement names."""
        repeated = rows[ROW].take(pa.array([i for i, n in enumerate(rows[ROWS_COUNT].to_pylist()) for _ in range(n)], pa.int64()))
        account = run.result.ledger.statement(stage.name)
        account.dead[Fate.LATE.code] += len(repeated)
        if stage.late_stream is not None and self.job.readers_of(stage.late_stream):
            whole = pa.Table.from_struct_array(repeated.combine_chunks())
            whole = whole.append_column(SOURCE_SEQ, pa.array(range(whole.num_rows), pa.int64()))
            hidden = {name for name in whole.column_names if name.startswith("_")}
            run.late[stage.name] = Flow(tuple(n for n in whole.column_names if n not in hidden), table=whole)
            return
        letters = [DeadLetter(Fate.LATE, stage.input, stage.name, row, run.batch.batch_id) for row in repeated.to_pylist()]
        run.result.dead_letters.extend(letters)

    def _step(self, stage: Aggregate, rows: pa.Table | None, tick: Tick, run: _Run) -> None:
        carried = None
        if rows is not None:
            if LATE_ID in rows.column_names:
                ids = pa.array([None if t is None else i for i, t in enumerate(rows[LATE_ID].to_pylist())], pa.int64())
                rows = rows.set_column(rows.column_names.index(LATE_ID), LATE_ID, ids)
            carried = rows.select([ROW, ROWS_COUNT])
            rows = rows.drop_columns([ROW, ROWS_COUNT])
        frame = self.state.take_schema(stage.name, rows)
        outcome = self.steps[stage.name].step(self.state.tables.get(stage.name, {}), frame, tick)
        run.tables[stage.name] = outcome.state
        run.steps[stage.name] = StepInput(tick, rows)
        account = run.result.ledger.statement(stage.name)
        if outcome.rejected and carried is not None:
            refused = carried.take(pa.array(outcome.rejected, pa.int64()))
            account.passed -= pc.sum(refused[ROWS_COUNT]).as_py()
            if isinstance(stage.late, DeadLetterLate | UpdatePrevious | IncludeInNext):
                self._late(stage, refused, run)
            else:
                account.dropped[Fate.LATE.code] += pc.sum(refused[ROWS_COUNT]).as_py()
        if outcome.emissions is None or not outcome.emissions.height:
            return
        emissions = emissions_table(outcome.emissions, self.state.schemas[stage.name])
        if stage.having is not None and speaks_again(stage):
            emissions = self._apply_having(stage, emissions, tick, run)
        if not emissions.num_rows:
            return
        table = self._finishers[stage.name].finish(emissions, run.batch.now)
        flow = Flow(tuple(item.name for item in stage.items), table=table)
        if stage.limit is not None:
            flow = self._limit(stage, flow, run, stage.name)
        assert flow.table is not None
        account.emitted += flow.table.num_rows
        if flow.table.num_rows:
            run.flows[stage.name] = flow

    def _apply_having(self, stage: Aggregate, table: pa.Table, tick: Tick, run: _Run) -> pa.Table:
        """Keep what HAVING lets out, take back what it lets out no more, and number only what is said."""
        keys = [name for name, _ in stage.keys]
        bounds = [table[START].cast(pa.int64()), table[END].cast(pa.int64())]
        let_out = self._finishers[stage.name].let_out(table)
        verdicts = pa.table([*(table[key] for key in keys), *bounds, let_out], names=[*keys, START, END, LET_OUT])
        given = run.steps[stage.name]
        given.verdicts, given.kept_beyond = verdicts, tick.reached - stage.lateness
        judged, known = self.state.settle_having(stage.name, verdicts, given.kept_beyond)
        run.tables[having_name(stage.name)] = known
        kind = pc.if_else(judged[RETRACTS].to_arrow(), RETRACT, table[EMISSION].combine_chunks())
        table = table.set_column(table.column_names.index(EMISSION), EMISSION, kind)
        table = table.set_column(table.column_names.index(REVISION), REVISION, judged[REVISION].to_arrow())
        return table.filter(judged[SPEAKS].to_arrow())


@dataclass
class _Run:
    """What one batch gathers on its way through the stages."""

    batch: BatchInput
    result: BatchResult
    clocks: dict[str, Clock]
    counters: dict[str, int]
    flows: dict[str, Flow] = field(default_factory=dict)
    late: dict[str, Flow] = field(default_factory=dict)
    steps: dict[str, StepInput] = field(default_factory=dict)
    tables: dict[str, Tables] = field(default_factory=dict)
    cached: list[DataFrame] = field(default_factory=list)
    # Greatest event times of stages with a clock of their own.
    reached: dict[str, dict[int, int]] = field(default_factory=dict)


def _has_own_clock(stage: Aggregate) -> bool:
    """Where the statement says itself what event time is, or which rows move it, the source's clock is not its clock."""
    return stage.punctuation is not None or stage.time is not None


def _own_clock(stage: Aggregate) -> str:
    return f"{stage.name}#own"


def _greatest(fed: pa.Table, partitions: tuple[int, ...]) -> dict[int, int]:
    found = {p: pc.max(fed[f"{CLOCK}{p}"]).as_py() for p in partitions}
    return {p: at for p, at in found.items() if at is not None}


def _counts_by_fate(fed: pa.Table) -> dict[Fate, int]:
    sums = fed.group_by("_judged").aggregate([(ROWS_COUNT, "sum")]).to_pylist()
    return {Fate(row["_judged"]): row[f"{ROWS_COUNT}_sum"] for row in sums}


def _roots(job: Job) -> dict[str, tuple[str, ...]]:
    """The sources each stage's rows come from."""
    roots: dict[str, tuple[str, ...]] = {}
    for stage in job.stages:
        own = (stage.name,) if isinstance(stage, Read) else tuple(r for name in stage.inputs for r in roots.get(name, ()))
        roots[stage.name] = tuple(dict.fromkeys(own))
    return roots


def _held_back(job: Job) -> dict[str, int]:
    """How far behind the watermark of its sources the rows that reach each stage may come: outer joins let rows out late."""
    behind: dict[str, int] = {}
    gives: dict[str, int] = {}
    for stage in job.stages:
        behind[stage.name] = max((gives.get(name, 0) for name in stage.inputs), default=0)
        gives[stage.name] = behind[stage.name] + (stage.held_back if isinstance(stage, IntervalJoin) else 0)
    return behind


def _behind(watermark: int | None, lag: int) -> int | None:
    return watermark if watermark is None or watermark >= FOREVER else watermark - lag
