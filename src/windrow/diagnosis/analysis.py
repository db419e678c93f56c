"""Several batches of one run added up: what went through every operator, what it cost, and what is slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.observe.batch_record import BatchRecord, OperatorRecord, SourceRecord, StatementRecord
from windrow.plan.stages import Job, Write

# A bottleneck is what takes at least this share of the time.
MOST = 0.4


@dataclass(frozen=True)
class OperatorTotals:
    """One operator over the batches: sums of its rows and seconds, and what it held after the last one."""

    name: str
    kind: str
    rows_in: int | None
    rows_out: int | None
    passed: int | None
    filtered: int
    dead: Mapping[str, int]
    dropped: Mapping[str, int]
    late_corrected: int
    late_included: int
    refused: int
    seconds: float
    share: float
    p95: float
    rows_held: int
    bytes_held: int
    home: str
    strategies: tuple[str, ...] = ()

    @property
    def selectivity(self) -> float | None:
        """Rows out for every row in."""
        return self.rows_out / self.rows_in if self.rows_in and self.rows_out is not None else None


@dataclass(frozen=True)
class SourceTotals:
    """One source: its clock after the last batch, and the rows of each partition where they are known."""

    clock: SourceRecord
    rows: Mapping[int, int] = field(default_factory=dict)

    @property
    def skew(self) -> float | None:
        """How much more the busiest partition brings than the mean of all."""
        total = sum(self.rows.values())
        return max(self.rows.values()) * len(self.rows) / total if total else None

    @property
    def busiest(self) -> int | None:
        return max(self.rows, key=lambda number: self.rows[number], default=None)


@dataclass(frozen=True)
class StatementTotals:
    """The windows of one statement. ``late_by`` are the rows that came too late, by how many microseconds, and ``corrected_by`` those that
    corrected a window, by how long it had been closed.
    """

    last: StatementRecord
    opened: int | None
    closed: int | None
    corrected: int
    emissions: Mapping[str, int]
    late_by: Mapping[int, int]
    corrected_by: Mapping[int, int]


@dataclass(frozen=True)
class Analysis:
    """Batches of one job, oldest first; there is at least one."""

    job: Job
    records: tuple[BatchRecord, ...]
    operators: Mapping[str, OperatorTotals]
    sources: Mapping[str, SourceTotals]
    statements: Mapping[str, StatementTotals]
    phases: Mapping[str, float]

    @property
    def last(self) -> BatchRecord:
        return self.records[-1]

    @property
    def seconds(self) -> float:
        return sum(record.seconds for record in self.records)

    @property
    def span(self) -> float:
        """Seconds from the arrival of the first batch to the commit of the last."""
        return max(0.0, (self.last.at - self.records[0].arrival) / 1e6)

    @property
    def rows_in(self) -> int:
        return sum(record.rows_in for record in self.records)

    @property
    def retried(self) -> int:
        return sum(record.attempt > 1 for record in self.records)

    def percentile(self, share: float) -> float:
        """Of the seconds that a batch took."""
        return percentile([record.seconds for record in self.records], share)

    @property
    def bottleneck(self) -> OperatorTotals | None:
        """The operator that takes most of the time, if one does."""
        slowest = max(self.operators.values(), key=lambda one: one.seconds, default=None)
        return slowest if slowest is not None and slowest.share >= MOST else None

    def is_sink(self, name: str) -> bool:
        return isinstance(self.job.stage(name), Write)


def analyze(job: Job, records: Sequence[BatchRecord]) -> Analysis:
    seconds = sum(record.seconds for record in records)
    names = [stage.name for stage in job.stages]
    operators = {name: _operator([record.operator(name) for record in records], seconds) for name in names}
    return Analysis(
        job,
        tuple(records),
        operators,
        {read.name: _source(read.name, records) for read in job.reads},
        {name: _statement(name, records) for name in dict.fromkeys(name for record in records for name in record.statements)},
        _summed([record.phases for record in records]),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank.

    >>> percentile([3.0, 1.0, 2.0], 0.5), percentile([], 0.5)
    (2.0, 0.0)
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _operator(records: list[OperatorRecord], seconds: float) -> OperatorTotals:
    last, own = records[-1], [record.seconds for record in records]
    counts: Callable[[str], int] = lambda name: sum(getattr(record, name) for record in records)  # noqa: E731
    return OperatorTotals(
        name=last.name,
        kind=last.kind,
        rows_in=_known(record.rows_in for record in records),
        rows_out=_known(record.rows_out for record in records),
        passed=_known(record.passed for record in records),
        filtered=counts("filtered"),
        dead=_summed([record.dead for record in records]),
        dropped=_summed([record.dropped for record in records]),
        late_corrected=counts("late_corrected"),
        late_included=counts("late_included"),
        refused=counts("refused"),
        seconds=sum(own),
        share=sum(own) / seconds if seconds else 0.0,
        p95=percentile(own, 0.95),
        rows_held=last.rows_held,
        bytes_held=last.bytes_held,
        home=last.home,
        strategies=last.strategies,
    )


def _source(name: str, records: Sequence[BatchRecord]) -> SourceTotals:
    rows: Counter[int] = Counter()
    for record in records:
        for number, one in record.sources.get(name, SourceRecord()).partitions.items():
            rows[number] += one.rows or 0
    is_known = any(one.rows is not None for record in records for one in record.sources.get(name, SourceRecord()).partitions.values())
    return SourceTotals(records[-1].sources.get(name, SourceRecord()), dict(rows) if is_known else {})


def _statement(name: str, records: Sequence[BatchRecord]) -> StatementTotals:
    own = [record.statements.get(name, StatementRecord()) for record in records]
    return StatementTotals(
        own[-1],
        _known(one.opened for one in own),
        _known(one.closed for one in own),
        sum(one.corrected for one in own),
        _summed([one.emissions for one in own]),
        dict(sorted(_summed([one.late_by for one in own]).items())),
        dict(sorted(_summed([one.corrected_by for one in own]).items())),
    )


def _known(values: Any) -> int | None:
    """The sum of those that are known; None where none is."""
    there = [value for value in values if value is not None]
    return sum(there) if there else None


def _summed(counts: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    every: Counter[Any] = Counter()
    for one in counts:
        every.update(one)
    return {name: count for name, count in every.items() if count}
