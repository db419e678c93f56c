"""The latest row of each key: what a table that a query makes holds."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import EMISSION, END, RETRACT
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

LATEST = "latest"
_SEEN = "_seen"


@dataclass(frozen=True)
class UpsertStep:
    """Without keys there is one row. ``ttl``: a key of which no row came for so long is forgotten."""

    keys: tuple[str, ...]
    ttl: int | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held = state.get(LATEST)
        if rows is not None:
            held = self._replaced(held, rows.with_columns(pl.lit(tick.now, pl.Int64).alias(_SEEN)))
        if held is not None and self.ttl is not None:
            held = held.filter(pl.col(_SEEN) > tick.now - self.ttl)
        return StepResult({} if held is None or not held.height else {LATEST: held})

    def _replaced(self, held: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame | None:
        both = stack([held, rows])
        if both is None:
            return None
        if END in both.columns:
            # A correction of an earlier window does not replace the row of a later one.
            both = both.sort(END, nulls_last=False, maintain_order=True)
        last = both.unique(self.keys, keep="last", maintain_order=True) if self.keys else both.tail(1)
        return last.filter(pl.col(EMISSION).ne_missing(RETRACT)) if EMISSION in both.columns else last

    def open_windows(self, _state: Tables) -> pl.DataFrame | None:
        """Rows are held, not windows."""
        return None
