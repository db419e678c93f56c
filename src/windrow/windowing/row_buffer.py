"""The last rows of each partition, kept for those who look back."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.step import BatchTime, StepResult, Tables, stack

KEPT = "kept"


@dataclass(frozen=True)
class RowBufferStep:
    """``count`` None keeps everything. Rows arrive in order; the newest are at the end."""

    keys: tuple[str, ...]
    count: int | None

    def step(self, state: Tables, rows: pl.DataFrame | None, _tick: BatchTime) -> StepResult:
        both = stack([state.get(KEPT), rows])
        if both is None or rows is None:
            return StepResult(state)
        if self.count is None:
            return StepResult({KEPT: both})
        # The row itself is one of those it sees, so one less is enough for the next.
        wanted = self.count - 1
        kept = both.group_by(self.keys, maintain_order=True).tail(wanted) if self.keys else both.tail(wanted)
        return StepResult({KEPT: kept.select(both.columns)} if kept.height else {})

    def open_windows(self, _state: Tables) -> pl.DataFrame | None:
        """Rows are kept, not windows."""
        return None
