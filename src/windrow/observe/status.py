"""What a running job shows of itself at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from windrow.observe.ledger import Ledger

STARTING, RUNNING, STOPPED, ENDED, FAILED = "starting", "running", "stopped", "ended", "failed"


@dataclass(frozen=True)
class JobStatus:
    """Times are microseconds since the epoch. ``lag_seconds`` is how far the watermark is behind the last batch's arrival."""

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
    ledger: Ledger = field(default_factory=Ledger)
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "ledger"}
        return {**data, "ledger": self.ledger.to_json(), "balanced": self.ledger.is_balanced}
