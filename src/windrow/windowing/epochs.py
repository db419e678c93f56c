"""The exact clock: a batch taken in pieces, so that what comes of it does not depend on where batches were cut.

Rows carry the number of their piece. A row that may come too late for something is a piece of its own; before it is taken,
everything closes that had closed when it arrived. All other rows may be taken together, since none of them could tell the
difference. So a batch without late rows is one piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import SINCE
from windrow.windowing.step import BatchTime, StepResult, Tables, WindowStep, stack

EPOCH = "_epoch"  # number of the piece
_OPENING = -1  # what closes before the first piece begins
ROW_WATERMARK = "_row_mark"  # watermark of its own partition that a row which is a piece by itself is judged by


@dataclass(frozen=True)
class EpochStep:
    """Any step, taken once for each piece of a batch. Its emissions carry the number of their piece."""

    inner: WindowStep

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        if rows is None or EPOCH not in rows.columns:
            return self.inner.step(state, rows, tick)
        pieces = sorted(rows.partition_by(EPOCH), key=lambda piece: piece[EPOCH][0])
        starts = self._starts(pieces, tick)
        emissions: list[pl.DataFrame | None] = []
        rejected: list[int] = []
        if starts[0] != tick.before:
            opening = self.inner.step(state, None, BatchTime(tick.before, starts[0], tick.now))
            state = opening.state
            emissions.append(_numbered(opening.emissions, _OPENING))
        for piece, before, after in zip(pieces, starts, [*starts[1:], tick.after], strict=True):
            own = piece.drop(EPOCH, SINCE, ROW_WATERMARK)
            result = self.inner.step(state, own, BatchTime(before, after, tick.now, piece[ROW_WATERMARK][0]))
            state = result.state
            emissions.append(_numbered(result.emissions, piece[EPOCH][0]))
            rejected.extend(result.rejected)
        return StepResult(state, stack(emissions), tuple(rejected))

    def _starts(self, pieces: list[pl.DataFrame], tick: BatchTime) -> list[int | None]:
        """The watermark that each piece begins with: it never goes back, nor beyond the one that the batch ends with."""
        starts: list[int | None] = []
        at = tick.before
        for piece in pieces:
            since = piece[SINCE][0]
            if since is not None and tick.after is not None:
                reached = min(since, tick.after)
                at = reached if at is None else max(at, reached)
            starts.append(at)
        return starts

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        return self.inner.open_windows(state)


def _numbered(emissions: pl.DataFrame | None, epoch: int) -> pl.DataFrame | None:
    return None if emissions is None else emissions.with_columns(pl.lit(epoch, pl.Int64).alias(EPOCH))
