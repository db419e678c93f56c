"""What every window kind's step has in common: its inputs, its result, and the shape of its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from windrow.model.lateness import latest_end_over
from windrow.windowing.columns import NEVER

# State is a few named tables; a table that has no row yet may be missing.
Tables = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class BatchTime:
    """The time a batch lives in: the watermark it started with and ends with (None: unset), and when it arrived."""

    before: int | None
    after: int | None
    now: int
    # The watermark of its own partition, for a row that is taken by itself.
    row_watermark: int | None = None
    # Closed windows that end at or before this were let go early, to make room: they are corrected no more.
    evicted: int = NEVER

    @property
    def watermark_before(self) -> int:
        """The watermark that the rows of this batch are judged by."""
        return NEVER if self.before is None else self.before

    @property
    def rejects_by(self) -> int:
        """The watermark by which a row is too late for everything."""
        return self.watermark_before if self.row_watermark is None else max(self.watermark_before, self.row_watermark)

    @property
    def watermark_after(self) -> int:
        return NEVER if self.after is None else self.after

    def retention_bound(self, lateness: int) -> int:
        """Windows that end at or before this are let go by the end of the batch."""
        return max(latest_end_over(self.watermark_after, lateness), min(self.evicted, self.watermark_after))


@dataclass(frozen=True)
class StepResult:
    """The state after, the emissions in order, and the ``_late_id`` of rows that no window took.

    ``lasting`` has the numbers of the rows that alone lead to the same state; None where it takes all of them.
    """

    state: Tables
    emissions: pl.DataFrame | None = None
    rejected: tuple[int, ...] = field(default=())
    lasting: pl.Series | None = None


class WindowStep(Protocol):
    """One window kind with its emission rules. Pure: the same arguments give the same result."""

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult: ...

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        """What is held: one row per group and window, with bounds and row count."""


def stack(frames: list[pl.DataFrame | None]) -> pl.DataFrame | None:
    """The frames one under the other; None where there is no row at all. Columns are matched by name."""
    there = [frame for frame in frames if frame is not None and frame.height]
    if not there:
        return None
    if len(there) == 1:
        return there[0]
    # A column that is all NULL in one batch may have been typed so: it takes the type of the others.
    return pl.concat(there, how="diagonal_relaxed")
