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
class WindowCounts:
    """Windows of telemetry with data that a source could take when it last looked, and that it must wait for; rows that came late."""

    source: str
    safe: int
    waiting: int
    late_rows: int


@dataclass(frozen=True)
class JobStatus:
    """Times are microseconds since the epoch. ``lag_seconds`` is how far the watermark is behind the last batch's arrival.

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

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("ledger", "systems", "windows")}
        systems, windows = [asdict(system) for system in self.systems], [asdict(own) for own in self.windows]
        return {**data, "systems": systems, "windows": windows, "ledger": self.ledger.to_json(), "balanced": self.ledger.is_balanced}
