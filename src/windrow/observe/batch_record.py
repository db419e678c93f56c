"""What one committed batch says of itself: the durable record that `why`, EXPLAIN ANALYZE, `advise` and `top` read.

A record is for looking. Nothing that a job computes depends on it, and what the ledger and the change files hold in sum is here by batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True)
class _Saved:
    """A value that leaves out of its JSON what has its default, and ignores what it does not know."""

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for spec in fields(self):
            value = getattr(self, spec.name)
            default = spec.default_factory() if spec.default_factory is not MISSING else spec.default
            if value != default:
                told[spec.name] = _plain(value)
        return told

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = {spec.name for spec in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in known})


@dataclass(frozen=True)
class PartitionRecord(_Saved):
    """One partition of a source after the batch. ``rows`` came with this batch; None where they are not counted by partition.

    ``greatest`` is the greatest event time, ``seen_at`` when a row last arrived, both in microseconds. ``greatest`` is None until the
    first row.
    """

    greatest: int | None = None
    seen_at: int = 0
    rows: int | None = None


@dataclass(frozen=True)
class SourceRecord(_Saved):
    """The clock of one source. Watermarks are None while unset; ``idle`` partitions do not hold it back.

    ``left_out`` counts partitions beyond the ones kept, all of which have come further.
    """

    partitions: Mapping[int, PartitionRecord] = field(default_factory=dict)
    before: int | None = None
    after: int | None = None
    delay: int = 0
    idle_timeout: int | None = None
    idle: tuple[int, ...] = ()
    left_out: int = 0
    is_ended: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        partitions = {int(number): PartitionRecord.from_json(one) for number, one in data.get("partitions", {}).items()}
        return super().from_json({**data, "partitions": partitions, "idle": tuple(data.get("idle", ()))})


@dataclass(frozen=True)
class OperatorRecord(_Saved):
    """One operator in the batch: ``rows_in = passed + filtered + dead + dropped``, and ``rows_out`` is what it gave.

    ``dead`` and ``dropped`` are by code. Numbers are None where they are not known without another Spark job. ``rows_held`` and
    ``bytes_held`` are its state after the batch, and ``home`` says who holds that: the driver, or the executors.
    """

    name: str = ""
    kind: str = ""
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_out: int | None = None
    passed: int | None = None
    filtered: int = 0
    dead: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    late_corrected: int = 0
    late_included: int = 0
    late_warned: int = 0
    refused: int = 0
    seconds: float = 0.0
    strategies: tuple[str, ...] = ()
    rows_held: int = 0
    bytes_held: int = 0
    home: str = "driver"

    @property
    def accounted(self) -> int | None:
        """The sum of everything that became of the rows that came in."""
        return None if self.passed is None else self.passed + self.filtered + sum(self.dead.values()) + sum(self.dropped.values())

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return super().from_json({**data, "strategies": tuple(data.get("strategies", ()))})


@dataclass(frozen=True)
class StatementRecord(_Saved):
    """The windows and emissions of one statement. ``before`` and ``after`` are its watermark, None while unset.

    ``opened`` is net of sessions that became one. ``open`` are windows that the watermark has not passed, ``kept`` those that only wait
    for late rows. All are None where counting them would cost too much, and ``closed`` where the statement does not emit at the end
    of a window. ``emissions`` are rows by kind. ``late_by`` counts the rows that came too late, set aside or dropped, by how many
    microseconds, rounded up to two digits; ``corrected_by`` those that corrected a window, by how long it had been closed.
    """

    before: int | None = None
    after: int | None = None
    lateness: int = 0
    opened: int | None = None
    closed: int | None = None
    corrected: int = 0
    open: int | None = None
    kept: int | None = None
    emissions: Mapping[str, int] = field(default_factory=dict)
    late_by: Mapping[int, int] = field(default_factory=dict)
    corrected_by: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        by = {name: {int(by): count for by, count in data.get(name, {}).items()} for name in ("late_by", "corrected_by")}
        return super().from_json({**data, **by})


@dataclass(frozen=True)
class TableRecord(_Saved):
    """Reference data. ``stale`` is why its last refresh failed."""

    rows: int | None = None
    stale: str | None = None


@dataclass(frozen=True)
class HolderRecord(_Saved):
    """What holds the watermark of the job back. ``reached`` is None while it has sent nothing."""

    source: str = ""
    partition: int | None = None
    reached: int | None = None
    behind_seconds: float = 0.0


@dataclass(frozen=True)
class BatchRecord(_Saved):
    """One committed batch of a job. Times are microseconds since the epoch, and lengths of time in ``seconds`` are seconds.

    ``run`` names the start of the job, ``attempt`` counts how often the batch was begun as far as this run can know. ``arrival`` is
    the batch's own time, ``at`` when it was committed. ``phases`` add up to ``seconds``. ``sinks`` are seconds by statement.
    """

    batch_id: int = -1
    run: str = ""
    attempt: int = 1
    arrival: int = 0
    at: int = 0
    is_end: bool = False
    seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    watermark_before: int | None = None
    watermark: int | None = None
    held_by: HolderRecord | None = None
    operators: tuple[OperatorRecord, ...] = ()
    sources: Mapping[str, SourceRecord] = field(default_factory=dict)
    statements: Mapping[str, StatementRecord] = field(default_factory=dict)
    sinks: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, TableRecord] = field(default_factory=dict)
    # What the job was told to keep to, in bytes and groups; None without a limit.
    max_bytes: int | None = None
    max_groups: int | None = None
    replayed: int = 0

    @property
    def rows_in(self) -> int:
        """Rows that the sources brought."""
        return sum(self.operator(name).rows_in or 0 for name in self.sources)

    @property
    def state_bytes(self) -> int:
        return sum(one.bytes_held for one in self.operators)

    @property
    def dead_letters(self) -> Counter[str]:
        """By code."""
        every: Counter[str] = Counter()
        for one in self.operators:
            every.update(one.dead)
        return every

    @property
    def is_balanced(self) -> bool:
        """Whether every operator accounts for each row that came to it."""
        known = [one for one in self.operators if one.rows_in is not None and one.passed is not None]
        return all(one.rows_in == one.accounted for one in known)

    def operator(self, name: str) -> OperatorRecord:
        return next((one for one in self.operators if one.name == name), OperatorRecord(name))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        held = data.get("held_by")
        return super().from_json(
            {
                **data,
                "held_by": None if held is None else HolderRecord.from_json(held),
                "operators": tuple(OperatorRecord.from_json(one) for one in data.get("operators", ())),
                "sources": {name: SourceRecord.from_json(one) for name, one in data.get("sources", {}).items()},
                "statements": {name: StatementRecord.from_json(one) for name, one in data.get("statements", {}).items()},
                "tables": {name: TableRecord.from_json(one) for name, one in data.get("tables", {}).items()},
            }
        )


@dataclass(frozen=True)
class JobNote(_Saved):
    """That a job came into a state, such as ``waiting``, at a time in microseconds; ``error`` says why, where something is wrong."""

    at: int = 0
    state: str = ""
    error: str | None = None


def imbalances(record: BatchRecord, inputs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Where the rows of a batch do not add up, a sentence each: in an operator, or between one and those that it reads (``inputs``)."""
    found = []
    for one in record.operators:
        if one.rows_in is not None and one.accounted is not None and one.rows_in != one.accounted:
            found.append(f"batch {record.batch_id}: {one.name} took {one.rows_in} rows and accounts for {one.accounted}")
        given = [record.operator(name).rows_out for name in inputs.get(one.name, ())]
        if one.rows_in is not None and given and None not in given and sum(rows or 0 for rows in given) != one.rows_in:
            found.append(f"batch {record.batch_id}: {one.name} took {one.rows_in} rows and was given {sum(rows or 0 for rows in given)}")
    return found


def rounded_lateness(micros: int) -> int:
    """Up to two digits, so that few numbers stand for any lateness and none is made smaller.

    >>> rounded_lateness(47_300_000), rounded_lateness(99), rounded_lateness(101)
    (48000000, 99, 110)
    """
    if micros < 100:
        return max(micros, 0)
    unit: int = 10 ** (len(str(micros)) - 2)
    return -(-micros // unit) * unit


def _plain(value: Any) -> Any:
    match value:
        case _Saved():
            return value.to_json()
        case Mapping():
            return {name: _plain(one) for name, one in value.items()}
        case tuple() | list():
            return [_plain(one) for one in value]
        case float():
            return round(value, 6)
        case _:
            return value
