"""What a running job shows of itself at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from windrow.observe.ledger import Ledger
from windrow.resilience import SystemState

STARTING, RUNNING, WAITING, STOPPED, ENDED, FAILED = "starting", "running", "waiting", "stopped", "ended", "failed"


@dataclass(frozen=True)
class TableLoad:
    """A table on its way in. ``total`` is an estimate, None where the source has none."""

    table: str
    rows: int
    total: int | None
    seconds: float
    is_done: bool = False

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or self.rows >= self.total or not self.rows_per_second:
            return None
        return (self.total - self.rows) / self.rows_per_second


@dataclass(frozen=True)
class StateSize:
    """What an operator holds: rows, bytes of memory, and groups or windows that are open."""

    rows: int = 0
    bytes: int = 0
    windows: int = 0


@dataclass(frozen=True)
class OperatorStatus:
    """One operator: how it works and why, what went through it in the last batch and in the run, and what it holds.

    Seconds are those of its own calls. Spark runs several operators as one job, whose time belongs to the one that started it. A number
    is None where it is not known without another job.
    """

    name: str
    operator: str
    strategies: tuple[Mapping[str, Any], ...] = ()
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_out: int | None = None
    seconds: float = 0.0
    total_rows_in: int | None = None
    total_rows_out: int | None = None
    total_seconds: float = 0.0
    state: StateSize = StateSize()


@dataclass(frozen=True)
class WindowCounts:
    """Windows of telemetry with data that a source could take when it last looked, and that it must wait for; rows that came late."""

    source: str
    safe: int
    waiting: int
    late_rows: int


@dataclass(frozen=True)
class FastPath:
    """A way to run faster by what Spark does not promise; ``instead`` is what is done without. ``why_off`` is None while it is in use."""

    name: str
    speeds_up: str
    instead: str
    why_off: str | None


@dataclass(frozen=True)
class Holder:
    """What holds the watermark back: the partition of a source that has come least far. ``reached`` is None while it has sent nothing.

    ``behind_seconds`` is how much further the furthest partition of all sources has come.
    """

    source: str
    partition: int | None
    reached: int | None
    behind_seconds: float


@dataclass(frozen=True)
class JobStatus:
    """Times are microseconds since the epoch. ``lag_seconds`` is how far the watermark is behind the last batch's arrival: large where the
    data are old, however fast they are processed. How long a batch takes is ``batch_seconds``.

    ``has_ended``: the input was declared ended, and every window is closed. ``held_by`` names what holds the watermark back, if anything.

    ``sink_seconds`` is how long each output took in the last batch, by statement: reading waits for the slowest. ``systems`` are the
    outside systems that this process talks to; while a job waits for one, ``error`` says why.
    """

    job: str
    state: str
    batch_id: int = -1
    rows_in: int = 0
    rows_per_second: float = 0.0
    watermark: int | None = None
    lag_seconds: float | None = None
    open_windows: int = 0
    state_bytes: int = 0
    late: int = 0
    dead_letters: int = 0
    emitted: int = 0
    batch_seconds: float = 0.0
    sink_seconds: Mapping[str, float] = field(default_factory=dict)
    systems: tuple[SystemState, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    error: str | None = None
    # Tables whose last refresh failed, with the reason: what was loaded before is still in force.
    stale_tables: Mapping[str, str] = field(default_factory=dict)
    windows: tuple[WindowCounts, ...] = ()
    operators: tuple[OperatorStatus, ...] = ()
    # Seconds of the last batch by phase: plan, read, transform, aggregate, step, write, dead_letters, commit. They add up to its seconds.
    phases: Mapping[str, float] = field(default_factory=dict)
    total_phases: Mapping[str, float] = field(default_factory=dict)
    has_ended: bool = False
    held_by: Holder | None = None
    fast_paths: tuple[FastPath, ...] = ()

    def to_json(self) -> dict[str, Any]:
        lists = ("systems", "windows", "operators", "fast_paths")
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("ledger", "held_by", *lists)}
        data.update({name: [asdict(one) for one in getattr(self, name)] for name in lists})
        data["held_by"] = None if self.held_by is None else asdict(self.held_by)
        return {**data, "ledger": self.ledger.to_json(), "balanced": self.ledger.is_balanced}
