"""A stage that groups: its rows go through the executors, its state one step on, and what is due comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ as SOURCE_SEQ
from windrow.model.fate import Fate
from windrow.model.window import DeadLetterLate, IncludeInNext, Rows, Session, UpdatePrevious
from windrow.plan.sharing import SharedFeed, fixed_of, shared_feeds
from windrow.plan.stages import Aggregate, Job, Read
from windrow.spark.accounting import Accountant, counts_by_fate
from windrow.spark.batch import Run
from windrow.spark.carrying import ROW, unpack_rows
from windrow.spark.dead_letters import DeadLetter
from windrow.spark.emissions import Finisher, emissions_table, speaks_again
from windrow.spark.event_time import own_time_sql
from windrow.spark.feeds import (
    CLOCK,
    INCLUDED,
    JUDGED,
    ROWS_COUNT,
    TIME,
    FeedRequest,
    feed_sql,
    has_headers,
    late_corrected,
    moves_clock_sql,
)
from windrow.spark.flow import Flow
from windrow.spark.home import Gathered, Home, Resident, kept_rows
from windrow.spark.homes import Homes
from windrow.spark.job_state import evicted_name, having_name, headed_name
from windrow.spark.lanes import lane_of
from windrow.spark.limiting import limited
from windrow.spark.marks import MARKS, marks_sql
from windrow.spark.querying import Queries, Select
from windrow.spark.quick_looks import QuickLooks
from windrow.spark.row_runs import RowRuns, row_runs
from windrow.spark.sharing import share_of
from windrow.spark.single_rows import SingleRows
from windrow.spark.tables import ReferenceTables
from windrow.spark.watermarks import Watermarks, has_own_clock, own_clock
from windrow.windowing.columns import EMISSION, END, FOREVER, NEVER, RETRACT, REVISION, START
from windrow.windowing.having import LET_OUT, RETRACTS, SPEAKS, Panes
from windrow.windowing.step import Tick, WindowStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Up to so many partitions, their clocks ride along as columns of the same job.
MOST_CLOCK_COLUMNS = 8


class Grouping:
    """All grouping stages of a job. ``partitions`` are those of each source, where they are known."""

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        partitions: Mapping[str, tuple[int, ...] | None],
        steps: Mapping[str, WindowStep],
        homes: Homes,
        marks: Watermarks,
        accountant: Accountant,
        tables: ReferenceTables,
        queries: Queries,
    ) -> None:
        self._spark = spark
        self._queries = queries
        self._job = job
        self._partitions = partitions
        self._steps = steps
        self._homes = homes
        self._marks = marks
        self._accountant = accountant
        # What the rows of each stage came from in this batch, for those that are set aside.
        self._given: dict[str, Select] = {}
        self._own_times: dict[str, str] = {}
        self._runs: dict[str, RowRuns | None] = {}
        self._quick = QuickLooks()
        self._finishers = {s.name: Finisher(spark, s, tables) for s in job.stages if isinstance(s, Aggregate)}
        self._shared = {member.name: one for one in shared_feeds(job) for member in one.members}
        self.direct = {r.name: s.name for r in job.reads for s in [self._accounts_for(r)] if s is not None}

    def _accounts_for(self, read: Read) -> Aggregate | None:
        """The stage whose job can do the source's accounts on the way, if its time is the source's own.

        It is the only reader, or the first of those that share what they read.
        """
        readers = self._job.readers_of(read.name)
        known = self._partitions.get(read.name)
        if known is None or len(known) > MOST_CLOCK_COLUMNS or read.clock.late_rows == "warn":
            return None
        first = readers[0] if readers else None
        if not isinstance(first, Aggregate) or first.on_arrival or has_own_clock(first):
            return None
        shared = self._shared.get(first.name)
        return first if len(readers) == (1 if shared is None else len(shared.members)) else None

    def is_read_once(self, source: str, run: Run) -> bool:
        """Whether the rows of a source go through the executors once, all its accounts included."""
        first = self._job.stage(self.direct[source]) if source in self.direct else None
        if not isinstance(first, Aggregate):
            return False
        return first.name not in self._shared or self._shared_feed(first, run) is not None

    def run(self, stage: Aggregate, run: Run) -> None:
        source = run.flows.get(stage.input)
        direct = next((name for name, target in self.direct.items() if target == stage.name), None)
        rows: pa.Table | None = None
        before = self._tick_before(stage, run)
        if source is not None:
            if (shared := self._shared_feed(stage, run)) is not None:
                rows = self._feed_shared(stage, shared, source, before, run)
            else:
                rows = self._feed(stage, source, before, direct, run)
        if has_own_clock(stage):
            self._marks.advance(self._marks.root_of(stage).name, run.reached.get(stage.name, {}), run, own_clock(stage))
        tick = Tick(before, self._tick_after(stage, run), run.batch.now, evicted=_evicted(stage, run))
        self._step(stage, rows, tick, run)

    def _tick_before(self, stage: Aggregate, run: Run) -> int | None:
        if stage.on_arrival:
            return run.state.counters.get(f"{stage.name}@arrival")
        return self._marks.of(stage, run.before)

    def _tick_after(self, stage: Aggregate, run: Run) -> int | None:
        if not stage.on_arrival:
            return self._marks.of(stage, run.clocks)
        run.counters[f"{stage.name}@arrival"] = run.batch.now
        return FOREVER if run.batch.is_end else run.batch.now

    def _feed(self, stage: Aggregate, source: Flow, watermark: int | None, direct: str | None, run: Run) -> pa.Table | None:
        """The executors' part: one job. Gives the rows for the step and books everything else."""
        given = source.as_select(self._spark)
        request = self._request(stage, given, watermark, direct, run)
        home = self._home_of(stage, run)
        is_here = isinstance(home, Resident)
        runs = self._row_runs(stage, given) if is_here else None
        request = replace(request, takes_headers=not is_here, row_types=None if runs is None else runs.types)

        def gather(rows: Select, sql: Callable[[str], str]) -> Gathered:
            return home.gather(rows, sql, run.batch.batch_id, is_strict=stage.is_strict)

        def ask(rows: Select) -> Gathered:
            asked = replace(request, columns=rows.columns)
            return self._ask(stage, asked, run, partial(gather, rows)) if runs is None else self._run_up(stage, asked, rows, runs)

        can_ask_twice = is_here and direct is not None
        self._given[stage.name], found = self._quick.ask(stage.input, given, ask) if can_ask_twice else (given, ask(given))
        fed = self._unpacked(stage, found.books)
        self._book_source(direct, fed, request.partitions, run)
        if direct is None and request.partitions:
            run.reached[stage.name] = _greatest(fed, request.partitions)
        self._book_statement(stage, fed, watermark, direct is not None, run)
        return found.rows

    def _row_runs(self, stage: Aggregate, given: Select) -> RowRuns | None:
        """Asked once: the columns of a stage are the same in every batch."""
        if stage.name not in self._runs:
            self._runs[stage.name] = row_runs(stage, given)
        return self._runs[stage.name]

    def _run_up(self, stage: Aggregate, request: FeedRequest, rows: Select, runs: RowRuns) -> Gathered:
        """Running totals of rows that come one by one."""
        single = SingleRows(stage, replace(request, view=rows.source))
        fed = self._queries.table(rows, lambda _: single.sql)
        with ThreadPoolExecutor(1) as beside:
            books = beside.submit(single.books, fed)
            kept = single.kept(fed)
            totals = None if kept is None else runs.totals(kept, single.sources)
            return Gathered(books.result(), totals)

    def _ask(self, stage: Aggregate, request: FeedRequest, run: Run, gather: Callable[[Callable[[str], str]], Gathered]) -> Gathered:
        """What the executors say of a batch. They are asked for headers from the batch on in which a row of the source has any."""
        if not stage.keeps_headers or request.takes_headers:
            return gather(lambda view: feed_sql(stage, replace(request, view=view)))
        if headed_name(stage.input) not in run.counters:
            gathered = gather(lambda view: feed_sql(stage, replace(request, view=view)))
            if not has_headers(stage, gathered.books):
                return gathered
            run.counters[headed_name(stage.input)] = 1
        return gather(lambda view: feed_sql(stage, replace(request, view=view, takes_headers=True)))

    def _unpacked(self, stage: Aggregate, table: pa.Table) -> pa.Table:
        """With the rows that were set aside whole again."""
        source = self._job.stage(stage.input)
        return unpack_rows(table, self._given[stage.name], source if isinstance(source, Read) else None)

    def _shared_feed(self, stage: Aggregate, run: Run) -> SharedFeed | None:
        """What a stage shares with others, while the state of all of them is here."""
        shared = self._shared.get(stage.name)
        if shared is None or not all(isinstance(self._home_of(member, run), Resident) for member in shared.members):
            return None
        return shared

    def _feed_shared(self, stage: Aggregate, shared: SharedFeed, source: Flow, watermark: int | None, run: Run) -> pa.Table | None:
        """The first member has the executors do their part; the others take theirs from what it got."""
        leader = shared.leader
        direct = stage.input if stage.input in self.direct else None
        if leader.name not in run.shared:
            given = source.as_select(self._spark)
            evicted = max(_evicted(member, run) for member in shared.members) if self._homes.may_evict else None
            request = replace(self._request(leader, given, watermark, direct, run), keeps_late=True, evicted=evicted)

            def gather(rows: Select, sql: Callable[[str], str]) -> Gathered:
                return Gathered(self._queries.table(rows, sql, is_strict=leader.is_strict, in_shares=True))

            def ask(rows: Select) -> Gathered:
                asked = replace(request, columns=rows.columns, takes_headers=False)
                return self._ask(leader, asked, run, partial(gather, rows))

            is_direct = direct is not None
            self._given[leader.name], gathered = self._quick.ask(stage.input, given, ask) if is_direct else (given, ask(given))
            run.shared[leader.name] = self._unpacked(leader, gathered.books)
            self._book_source(direct, run.shared[leader.name], request.partitions, run)
        fed = share_of(stage, shared, run.shared[leader.name], watermark, _evicted(stage, run))
        self._book_statement(stage, fed, watermark, direct is not None, run)
        kept = kept_rows(fed)
        return kept if kept.num_rows else None

    def _book_source(self, direct: str | None, fed: pa.Table, partitions: tuple[int, ...], run: Run) -> None:
        if direct is not None:
            self._marks.advance(direct, _greatest(fed, partitions), run)
            self._accountant.book_source(direct, fed, run.batch.batch_id, run.result)

    def _request(self, stage: Aggregate, given: Select, watermark: int | None, direct: str | None, run: Run) -> FeedRequest:
        root, batch_id = self._marks.root_of(stage), run.batch.batch_id
        rides = direct is not None or has_own_clock(stage)
        return FeedRequest(
            view="",
            columns=given.columns,
            batch_id=batch_id,
            watermark=watermark,
            partitions=(self._partitions.get(root.name) or (0,)) if rides else (),
            lane=lane_of(root),
            is_direct=direct is not None,
            own_time=self._own_time(stage, given),
            max_future=root.time.max_future,
            marks=self._judged_by(stage, root, run) if stage.is_exact else None,
            delay=root.clock.delay if stage.delay is None else stage.delay,
            evicted=_evicted(stage, run) if self._homes.may_evict and _can_evict(stage) else None,
        )

    def _own_time(self, stage: Aggregate, given: Select) -> str | None:
        """SQL of the stage's own event time. The type of what it names is asked once."""
        if stage.time is not None and stage.name not in self._own_times:
            self._own_times[stage.name] = own_time_sql(stage.time, given.frame)
        return self._own_times.get(stage.name)

    def _judged_by(self, stage: Aggregate, root: Read, run: Run) -> tuple[str, str]:
        """SQL of what each row is judged by: its source tells, unless the statement has a clock of its own."""
        if not has_own_clock(stage):
            return MARKS
        clock = run.before.get(own_clock(stage)) or self._marks.start(root.name, run.batch.now)
        return marks_sql(clock, lane_of(root), root.clock.idle_timeout, run.batch.now, TIME, moves_clock_sql(stage, root.time.max_future))

    def _book_statement(self, stage: Aggregate, fed: pa.Table, watermark: int | None, is_direct: bool, run: Run) -> None:
        account = run.result.ledger.statement(stage.name)
        counts = counts_by_fate(fed)
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
        self._late(stage, fed.filter(pc.equal(fed[JUDGED], Fate.LATE.value)), run)

    def _late(self, stage: Aggregate, rows: pa.Table, run: Run) -> None:
        """Late rows become dead letters, or the rows of the stream that the statement names."""
        repeated = rows[ROW].take(pa.array([i for i, n in enumerate(rows[ROWS_COUNT].to_pylist()) for _ in range(n)], pa.int64()))
        account = run.result.ledger.statement(stage.name)
        account.dead[Fate.LATE.code] += len(repeated)
        if stage.late_stream is not None and self._job.readers_of(stage.late_stream):
            whole = _as_they_came(pa.Table.from_struct_array(repeated.combine_chunks()))
            whole = whole.append_column(SOURCE_SEQ, pa.array(range(whole.num_rows), pa.int64()))
            hidden = {name for name in whole.column_names if name.startswith("_")}
            run.late[stage.name] = Flow(tuple(n for n in whole.column_names if n not in hidden), table=whole)
            return
        letters = [DeadLetter(Fate.LATE, stage.input, stage.name, row, run.batch.batch_id) for row in repeated.to_pylist()]
        run.result.dead_letters.extend(letters)

    def _step(self, stage: Aggregate, rows: pa.Table | None, tick: Tick, run: Run) -> None:
        taken = self._home_of(stage, run).step(rows, tick, run.batch.batch_id)
        run.steps[stage.name] = taken.given
        if taken.tables is not None:
            run.tables[stage.name] = taken.tables
        account = run.result.ledger.statement(stage.name)
        if taken.refused is not None:
            refused = self._unpacked(stage, taken.refused)
            count = pc.sum(refused[ROWS_COUNT]).as_py()
            account.passed -= count
            if isinstance(stage.late, DeadLetterLate | UpdatePrevious | IncludeInNext):
                self._late(stage, refused, run)
            else:
                account.dropped[Fate.LATE.code] += count
        if taken.emissions is None or not taken.emissions.height:
            return
        emissions = emissions_table(taken.emissions, run.state.schemas[stage.name])
        if stage.having is not None and speaks_again(stage):
            emissions = self._apply_having(stage, emissions, tick, run)
        if not emissions.num_rows:
            return
        table = self._finishers[stage.name].finish(emissions, run.batch.now)
        flow = Flow(tuple(item.name for item in stage.items), table=table)
        flow = limited(self._spark, flow, stage.limit, run.counters, stage.name)
        assert flow.table is not None
        account.emitted += flow.table.num_rows
        if flow.table.num_rows:
            run.flows[stage.name] = flow

    def evict(self, share: float, run: Run) -> None:
        """Let go of the oldest closed windows that are only kept for late rows, as many as this share of their time holds."""
        for stage in self._job.stages:
            given = run.steps.get(stage.name)
            if not isinstance(stage, Aggregate) or not _can_evict(stage) or given is None or given.tick.after is None:
                continue
            if not isinstance(self._home_of(stage, run), Resident):
                continue
            upto = max(given.tick.after - int(stage.lateness * (1 - share)), given.tick.evicted)
            tick = replace(given.tick, evicted=upto)
            rows = run.state.take_schema(stage.name, given.rows)
            run.tables[stage.name] = self._steps[stage.name].step(run.state.tables.get(stage.name, {}), rows, tick).state
            run.steps[stage.name] = replace(given, tick=tick)
            run.counters[evicted_name(stage.name)] = upto

    def _home_of(self, stage: Aggregate, run: Run) -> Home:
        return self._homes.of(stage, self._steps[stage.name], run.state, run.counters, run.batch.batch_id)

    def _apply_having(self, stage: Aggregate, table: pa.Table, tick: Tick, run: Run) -> pa.Table:
        """Keep what HAVING lets out, take back what it lets out no more, and number only what is said."""
        keys = [name for name, _ in stage.keys]
        bounds = [table[START].cast(pa.int64()), table[END].cast(pa.int64())]
        let_out = self._finishers[stage.name].let_out(table)
        columns = [*(table[key] for key in keys), *bounds, let_out, table[REVISION]]
        verdicts = pa.table(columns, names=[*keys, START, END, LET_OUT, REVISION])
        given = run.steps[stage.name]
        given.verdicts, given.kept_beyond, given.panes = verdicts, tick.reached - stage.lateness, _panes_of(stage)
        judged, known = run.state.settle_having(stage.name, verdicts, given.kept_beyond, given.panes)
        run.tables[having_name(stage.name)] = known
        kind = pc.if_else(judged[RETRACTS].to_arrow(), RETRACT, table[EMISSION].combine_chunks())
        table = table.set_column(table.column_names.index(EMISSION), EMISSION, kind)
        table = table.set_column(table.column_names.index(REVISION), REVISION, judged[REVISION].to_arrow())
        return table.filter(judged[SPEAKS].to_arrow())


def _panes_of(stage: Aggregate) -> Panes:
    match stage.window:
        case Session():
            return Panes.MOVING
        case Rows():
            return Panes.COUNTED
        case _:
            return Panes.FIXED


def _can_evict(stage: Aggregate) -> bool:
    """Windows of fixed bounds that are kept for late rows beyond their end."""
    return fixed_of(stage) is not None and stage.lateness > 0 and not stage.is_exact


def _evicted(stage: Aggregate, run: Run) -> int:
    return run.counters.get(evicted_name(stage.name), NEVER)


def _greatest(fed: pa.Table, partitions: tuple[int, ...]) -> dict[int, int]:
    found = {p: pc.max(fed[f"{CLOCK}{p}"]).as_py() for p in partitions}
    return {p: at for p, at in found.items() if at is not None}


def _as_they_came(rows: pa.Table) -> pa.Table:
    """Rows that were set aside, in the order in which they arrived: Spark's tasks give them by chance."""
    by = [(name, "ascending") for name in ("_timestamp", "_topic", "_offset", "_partition") if name in rows.column_names]
    return rows.sort_by(by) if by else rows
