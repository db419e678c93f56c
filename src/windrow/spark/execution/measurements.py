"""What a batch cost: seconds of every phase and of every operator, and the rows and bytes that went through them.

All of it is measured here, with a monotonic clock, and nothing is counted by a Spark job of its own: rows are those of the ledger, bytes
those of tables that are in the driver anyway. Spark runs several operators as one job. Its time belongs to the operator that started the
job: where an aggregation reads a source directly, the seconds of reading are the aggregation's, and the source has next to none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.observe.distribution import COUNTS, LATENCIES, SECONDS, Distribution
from windrow.observe.ledger import Ledger
from windrow.observe.status import Measured
from windrow.plan.physical import OperatorSpec, PhysicalPlan
from windrow.plan.physical.strategies import Strategy
from windrow.plan.stages import LoadTable, LookupJoin, Read, Write, row_inputs
from windrow.windowing.columns import COUNT, EMISSION, FINAL

if TYPE_CHECKING:
    from windrow.spark.query.flow import Flow


class Phase(Enum):
    """The parts of a batch. They follow each other, so their seconds add up to those of the batch."""

    PLAN = "plan"
    READ = "read"
    TRANSFORM = "transform"
    AGGREGATE = "aggregate"
    STEP = "step"
    WRITE = "write"
    DEAD_LETTERS = "dead_letters"
    COMMIT = "commit"


@dataclass
class OperatorMeasurement:
    """One operator in one batch. None where a number is not known without another job."""

    seconds: float = 0.0
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_out: int | None = None


@dataclass(frozen=True)
class Stretch:
    """A phase from when to when, in nanoseconds since the epoch, with the operator that it was a part of, if any."""

    phase: Phase
    operator: str | None
    start: int
    end: int


@dataclass
class BatchMeasurements:
    """Of one batch, from one thread. It begins with the planning of the batch."""

    operators: dict[str, OperatorMeasurement] = field(default_factory=dict)
    # In the order in which they ended; one may lie within another.
    stretches: list[Stretch] = field(default_factory=list)
    started: int = field(default_factory=lambda: time.time_ns())
    # Windows that the watermark closed, by statement, with how many rows were in them; those that were let go to make room.
    closed: dict[str, Distribution] = field(default_factory=dict)
    evicted: int = 0
    # Of the rows that were written out of the driver: seconds since their event time, by statement.
    latencies: dict[str, Distribution] = field(default_factory=dict)
    sinks: dict[str, float] = field(default_factory=dict)
    # Which of the ways in the plan each operator took.
    ways: dict[str, set[Strategy]] = field(default_factory=dict)
    _seconds: dict[Phase, float] = field(default_factory=lambda: dict.fromkeys(Phase, 0.0))
    _phase: Phase = Phase.PLAN
    _operator: str | None = None
    _since: float = field(default_factory=lambda: time.monotonic())
    _origin: float = field(default_factory=lambda: time.monotonic())

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Seconds within belong to this phase, and not to the one around it."""
        outer, started = self._enter(phase), self.now
        try:
            yield
        finally:
            self._enter(outer)
            self.stretches.append(Stretch(phase, self._operator, started, self.now))

    @property
    def now(self) -> int:
        """Nanoseconds since the epoch, by the clock that the batch began with: never back."""
        return self.started + int((time.monotonic() - self._origin) * 1e9)

    def _enter(self, phase: Phase) -> Phase:
        now = time.monotonic()
        self._seconds[self._phase] += now - self._since
        left, self._phase, self._since = self._phase, phase, now
        return left

    @contextmanager
    def operator(self, name: str, phase: Phase) -> Iterator[None]:
        started, outer, self._operator = time.monotonic(), self._operator, name
        try:
            with self.phase(phase):
                yield
        finally:
            self._operator = outer
            self.operators.setdefault(name, OperatorMeasurement()).seconds += time.monotonic() - started

    def take_way(self, name: str, way: Strategy) -> None:
        """Told by the code that goes this way, not by whoever sends it there."""
        self.ways.setdefault(name, set()).add(way)

    def take_flow(self, name: str, flow: Flow | None) -> None:
        """What an operator gave, as far as that is known: rows on the executors are not counted for it."""
        own = self.operators.setdefault(name, OperatorMeasurement())
        if flow is None:
            own.rows_out = 0
        elif flow.table is not None:
            own.rows_out, own.bytes_out = flow.table.num_rows, flow.table.nbytes

    def take_emissions(self, name: str, emissions: pl.DataFrame) -> None:
        """What a step puts out. A window that closes emits once as final."""
        final = emissions.filter(pl.col(EMISSION) == FINAL) if EMISSION in emissions.columns else emissions.clear()
        if final.height and COUNT in final.columns:
            _take_values(self.closed.setdefault(name, Distribution(COUNTS)), final[COUNT].cast(pl.Float64))

    def take_written(self, name: str, seconds: float, times: pa.ChunkedArray | None) -> None:
        """An output has taken its rows; ``times`` are their event times, where the rows came from the driver."""
        self.sinks[name] = seconds
        if times is not None and len(times):
            micros = pl.Series(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())).drop_nulls()
            late = (time.time_ns() // 1000 - micros).cast(pl.Float64) / 1e6
            _take_values(self.latencies.setdefault(name, Distribution(LATENCIES)), late)

    def take_ledger(self, plan: PhysicalPlan, ledger: Ledger) -> None:
        """The rows of every operator, once those of the batch are in the ledger."""
        for spec in plan:
            own = self.operators.setdefault(spec.name, OperatorMeasurement())
            own.rows_in, own.rows_out = _rows(spec, own, ledger, self.operators)

    def end(self) -> None:
        """The batch is done: what has passed since the last phase is counted, and what comes after it is not."""
        self._enter(self._phase)

    @property
    def phases(self) -> dict[str, float]:
        """Seconds by phase."""
        return {phase.value: seconds for phase, seconds in self._seconds.items()}

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())


def _rows(
    spec: OperatorSpec, own: OperatorMeasurement, ledger: Ledger, others: Mapping[str, OperatorMeasurement]
) -> tuple[int | None, int | None]:
    stage = spec.stage
    if isinstance(stage, LoadTable):
        return None, None
    if isinstance(stage, Read):
        source = ledger.sources.get(stage.name)
        return (0, 0) if source is None else (source.rows_in, source.passed)
    account = None if isinstance(stage, Write) else ledger.statements.get(stage.name)
    if account is not None:
        return account.rows_in, account.emitted
    given = [others[name].rows_out if name in others else None for name in row_inputs(stage)]
    rows_in = None if None in given else sum(count for count in given if count is not None)
    # A lookup may find several rows for one; all others without an account give what they are given.
    rows_out = own.rows_out if own.rows_out is not None or isinstance(stage, LookupJoin) else rows_in
    return rows_in, rows_in if isinstance(stage, Write) else rows_out


def _take_values(into: Distribution, values: pl.Series) -> None:
    """Count many values at once."""
    places = pl.Series(into.bounds, dtype=pl.Float64).search_sorted(values, side="left")
    counts = [0] * (len(into.bounds) + 1)
    for place, count in places.value_counts().iter_rows():
        counts[place] = count
    into.take_many(counts, float(values.sum()))


@dataclass
class RunMeasurements:
    """The batches of a run, added up."""

    phases: dict[str, float] = field(default_factory=lambda: {phase.value: 0.0 for phase in Phase})
    operators: dict[str, OperatorMeasurement] = field(default_factory=dict)
    evicted: int = 0
    ways: dict[str, set[Strategy]] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    _distributions: dict[tuple[str, tuple[str, ...]], Distribution] = field(default_factory=dict)

    def add(self, batch: BatchMeasurements, rows: int = 0) -> None:
        self._distribute(batch, rows)
        self.evicted += batch.evicted
        for name, ways in batch.ways.items():
            self.ways.setdefault(name, set()).update(ways)
        for name, closed in batch.closed.items():
            self.completed[name] = self.completed.get(name, 0) + closed.count
        for phase, seconds in batch.phases.items():
            self.phases[phase] += seconds
        for name, own in batch.operators.items():
            total = self.operators.setdefault(name, OperatorMeasurement())
            total.seconds += own.seconds
            total.rows_in, total.rows_out = _sum(total.rows_in, own.rows_in), _sum(total.rows_out, own.rows_out)
            total.bytes_out = _sum(total.bytes_out, own.bytes_out)

    def _distribute(self, batch: BatchMeasurements, rows: int) -> None:
        self._take("batch_duration_seconds", (), batch.seconds)
        self._take("batch_rows", (), rows, COUNTS)
        self._take("checkpoint_duration_seconds", (), batch.phases[Phase.COMMIT.value])
        for phase, seconds in batch.phases.items():
            self._take("batch_phase_seconds", (phase,), seconds)
        for sink, seconds in batch.sinks.items():
            self._take("sink_duration_seconds", (sink,), seconds)
        for instrument, found in (("window_event_count", batch.closed), ("end_to_end_seconds", batch.latencies)):
            for name, values in found.items():
                own = self._distributions.setdefault((instrument, (name,)), Distribution(values.bounds))
                own.take_many(values.counts, values.total)

    def _take(self, instrument: str, labels: tuple[str, ...], value: float, bounds: tuple[float, ...] = SECONDS) -> None:
        self._distributions.setdefault((instrument, labels), Distribution(bounds)).take(value)

    @property
    def distributions(self) -> tuple[Measured, ...]:
        """As they are now: what comes later does not change them."""
        return tuple(Measured(name, labels, values.copy()) for (name, labels), values in self._distributions.items())


def _sum(one: int | None, other: int | None) -> int | None:
    """What is known of both."""
    return other if one is None else one if other is None else one + other
