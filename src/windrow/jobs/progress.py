"""Keeps a job's status up to date between batches, and lets a stop wait for the batch that is under way."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.jobs.source_status import source_statuses
from windrow.model.fate import Fate
from windrow.model.window_kinds import CountedKind
from windrow.observe.row_metrics import begun
from windrow.observe.status import STARTING, Holder, JobAbout, JobStatus, OperatorStatus, RunCounts, StateSize, TableLoad, WindowTotals
from windrow.plan.physical import OperatorSpec
from windrow.plan.stages import Aggregate
from windrow.resilience import system_states
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.executor import BatchExecutor
from windrow.spark.execution.measurements import BatchMeasurements, OperatorMeasurement, RunMeasurements
from windrow.windowing.columns import FOREVER

if TYPE_CHECKING:
    from windrow.observe.ledger import Ledger


class Progress:
    def __init__(self, job: str) -> None:
        self._status = JobStatus(job, STARTING)
        self.about = JobAbout()
        self._lock = threading.Lock()
        self._hold: Callable[[], dict[str, StateSize]] = dict
        self._held: dict[str, StateSize] | None = None
        self._totals = RunMeasurements()
        self.state = STARTING
        self.error: str | None = None
        # Of the last batch, by statement.
        self.sink_seconds: dict[str, float] = {}
        self.stale_tables: Mapping[str, str] = {}
        self.tables: dict[str, TableLoad] = {}
        self.started_at = time.time()
        self.ended_at: float | None = None
        self.batch_since: float | None = None
        self._committed_at: float | None = None
        # Of the run: batches, tries after an outage, errors by code and by output.
        self._batches = 0
        self._advanced = 0.0
        self.retries = 0
        self.errors: Counter[tuple[str, str]] = Counter()
        self.sink_errors: Mapping[tuple[str, str], int] = {}
        self._windows = WindowCounting()

    def take_load(self, load: TableLoad) -> None:
        """A table goes on loading. Called from several threads."""
        self.tables[load.table] = load

    def note_error(self, code: str, kind: str) -> None:
        """``kind`` is transient where the job begins again, permanent where it ends."""
        self.errors[code, kind] += 1

    def update(self, executor: BatchExecutor, result: BatchResult | None) -> None:
        """After a batch, or (None) before the first."""
        ledger = executor.state.ledger
        rows, measured, seconds = 0, BatchMeasurements(), 0.0
        if result is not None:
            result.measured.end()
            rows, measured, seconds = result.ledger.rows_in, result.measured, result.measured.seconds
            measured.take_ledger(executor.plan, result.ledger)
            self._totals.add(measured, rows)
            self._batches += 1
            self._committed_at = time.time()
        watermark = _least_watermark(executor)
        before = self._status.watermark
        if result is not None and watermark is not None and before is not None:
            self._advanced += max(0, watermark - before) / 1e6
        now = max((clock.now or 0 for clock in executor.state.clocks.values()), default=0)
        status = JobStatus(
            job=executor.job.name,
            state=self.state,
            batch_id=executor.state.batch_id,
            rows_in=ledger.rows_in,
            rows_per_second=rows / seconds if seconds else 0.0,
            watermark=watermark,
            lag_seconds=None if watermark is None else max(0.0, (now - watermark) / 1e6),
            state_bytes=executor.state.bytes_held + sum(one.bytes_held for one in executor.state_backends.distributed.values()),
            late=_late(ledger),
            dead_letters=sum(ledger.dead_letters.values()),
            violations=dict(ledger.violations),
            emitted=sum(account.emitted for account in ledger.statements.values()),
            batch_seconds=seconds,
            ledger=ledger,
            operators=tuple(replace(_operator(spec, measured, self._totals), state=executor.size_of(spec.name)) for spec in executor.plan),
            phases=measured.phases,
            total_phases=dict(self._totals.phases),
            has_ended=bool(executor.state.clocks) and all(clock.is_ended for clock in executor.state.clocks.values()),
            held_by=_holder(executor),
            sources=source_statuses(executor),
            distributions=self._totals.distributions,
            committed_at=self._committed_at,
            metrics=begun(executor.job.metrics, executor.state.metrics),
            metric_help={metric.name: metric.help for _, metric in executor.job.metrics},
        )
        with self._lock:
            self._status = status
            self._hold = executor.held
            self._held = None
            self._windows.begin(executor, self._totals.completed)

    @property
    def last(self) -> JobStatus:
        """As it stood after the last batch, without what has to be counted."""
        with self._lock:
            current = self._status
        return self._completed(current)

    def status(self) -> JobStatus:
        with self._lock:
            current = self._status
            # Counted when somebody looks, once a batch at most: at a million groups the count costs more than many a batch.
            if self._held is None:
                self._held = self._hold()
            held = self._held
            operators = tuple(replace(one, state=held.get(one.name, one.state)) for one in current.operators)
            open_windows = sum(size.windows for size in held.values())
            current = replace(current, operators=operators, open_windows=open_windows, window_totals=self._windows.totals(held))
        return self._completed(current)

    def _completed(self, current: JobStatus) -> JobStatus:
        """With what changes between two batches."""
        return replace(
            current,
            state=self.state,
            about=self.about,
            error=self.error,
            stale_tables=self.stale_tables,
            sink_seconds=dict(self.sink_seconds),
            systems=tuple(system_states()),
            tables=tuple(self.tables.values()),
            counts=self._counts(),
            started_at=self.started_at,
            ended_at=self.ended_at,
            batch_since=self.batch_since,
        )

    def _counts(self) -> RunCounts:
        errors, refused = dict(self.errors), dict(self.sink_errors)
        return RunCounts(self._batches, self.retries, self._totals.evicted, self._advanced, errors, refused)


class WindowCounting:
    """Windows of the run, from those that closed and those that are held. What was held as it began is taken off.

    Created ones are those that closed and those that are open; those let go closed, and are not kept for late rows any more.
    """

    def __init__(self) -> None:
        self._names: tuple[str, ...] | None = None
        self._before: dict[str, StateSize] = {}
        self._completed: Mapping[str, int] = {}
        self._told: dict[str, WindowTotals] = {}

    def begin(self, executor: BatchExecutor, completed: Mapping[str, int]) -> None:
        """Before the first batch, and after each. Windows that only emit changes are not reported as closed."""
        if self._names is None:
            closing = (stage for stage in executor.job.stages if isinstance(stage, Aggregate) and stage.emit_policy.on_close)
            self._names = tuple(s.name for s in closing if s.window is not None and not isinstance(s.window, CountedKind))
            self._before = executor.held() if self._names else {}
        self._completed = dict(completed)

    def totals(self, held: Mapping[str, StateSize]) -> tuple[WindowTotals, ...]:
        for name in self._names or ():
            now, before = held.get(name, StateSize()), self._before.get(name, StateSize())
            if now.closed is None or before.closed is None:
                continue
            completed = self._completed.get(name, 0)
            created = completed + (now.windows - now.closed) - (before.windows - before.closed)
            pruned = completed - (now.closed - before.closed)
            # Sessions that grow together are fewer than those that came to be: what was told once does not fall.
            told = self._told.get(name, WindowTotals(name, 0, 0, 0))
            self._told[name] = WindowTotals(name, max(created, told.created), completed, max(pruned, told.pruned))
        return tuple(self._told.values())


class LoadWatch:
    """Tells how a table's load goes on: a source calls it with the rows so far, and once with how many there may be."""

    def __init__(self, table: str, tell: Callable[[TableLoad], None]) -> None:
        self._table = table
        self._tell = tell
        self._started = time.monotonic()
        self._total: int | None = None

    def __call__(self, rows: int, total: int | None) -> None:
        self._total = total if total is not None else self._total
        self._tell(TableLoad(self._table, rows, self._total, time.monotonic() - self._started))


def _operator(spec: OperatorSpec, measured: BatchMeasurements, totals: RunMeasurements) -> OperatorStatus:
    last = measured.operators.get(spec.name, OperatorMeasurement())
    total = totals.operators.get(spec.name, OperatorMeasurement())
    return OperatorStatus(
        spec.name,
        spec.kind,
        tuple(choice.to_json() for choice in spec.distinct),
        tuple(sorted(str(way) for way in totals.ways.get(spec.name, ()))),
        last.rows_in,
        last.rows_out,
        last.bytes_out,
        last.seconds,
        total.rows_in,
        total.rows_out,
        total.seconds,
    )


def _least_watermark(executor: BatchExecutor) -> int | None:
    marks = [
        executor.watermarks.of(stage, executor.state.clocks, executor.state.counters)
        for stage in executor.job.stages
        if isinstance(stage, Aggregate)
    ]
    known = [mark for mark in marks if mark is not None and mark < FOREVER]
    return min(known) if known else None


def _holder(executor: BatchExecutor) -> Holder | None:
    """The partition that event time waits for, where there is more than one that could go on."""
    if not any(isinstance(stage, Aggregate) for stage in executor.job.stages):
        return None
    found: list[Holder] = []
    reached: list[int] = []
    for read in executor.job.reads:
        clock = executor.state.clocks.get(read.name)
        if clock is None:
            found.append(Holder(read.name, None, None, 0.0))
            continue
        if clock.is_ended or (slowest := clock.slowest(read.clock.idle_timeout)) is None:
            continue
        reached += [p.greatest for p in clock.partitions.values() if p.greatest is not None]
        found.append(Holder(read.name, slowest[0], slowest[1].greatest, 0.0))
    return _least_far(found, max(reached, default=None))


def _least_far(found: list[Holder], furthest: int | None) -> Holder | None:
    """
    >>> _least_far([Holder("a", 0, 5_000_000, 0.0), Holder("b", 1, 2_000_000, 0.0)], 9_000_000)
    Holder(source='b', partition=1, reached=2000000, behind_seconds=7.0)
    """
    if furthest is None or not found:
        return None
    silent = next((one for one in found if one.reached is None), None)
    if silent is not None:
        return silent
    least = min(found, key=lambda one: one.reached or 0)
    assert least.reached is not None
    return replace(least, behind_seconds=(furthest - least.reached) / 1e6) if least.reached < furthest else None


def _late(ledger: Ledger) -> int:
    code = Fate.LATE.code
    return sum(a.dead[code] + a.dropped[code] + a.late_corrected + a.late_included for a in ledger.statements.values())
