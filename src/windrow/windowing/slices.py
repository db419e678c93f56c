"""Windows of fixed bounds that emit when they close: state is slices, a window is the merge of its slices.

Partials are only put beside each other when they arrive, and merged when a window fires or when the pile has doubled, so a
batch costs what it touches and not what is held. Nothing is kept per window but a count of its emissions, and that only
while late rows may still correct it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.model.lateness import latest_end_over
from windrow.model.window_kinds import FixedKind
from windrow.windowing.columns import COUNT, EMISSION, END, FINAL, LATE, NEVER, REVISION, SLICE, START, Layout, join_on
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

HELD, FRESH, EMITTED = "held", "fresh", "emitted"
MOST_CHUNKS = 64
# The window that a slice is merged into. In what is remembered of emissions the column is called as the start, which it is for most kinds.
_PANE = START


@dataclass(frozen=True)
class SliceStep:
    layout: Layout
    kind: FixedKind
    lateness: int = 0
    # Only windows that start from then on, or before then.
    starts_from: int | None = None
    starts_before: int | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held, fresh = state.get(HELD), stack([state.get(FRESH), rows])
        emitted = state.get(EMITTED)
        corrections = self._corrections(held, fresh, rows, emitted, tick)
        closed = self._closed(held, fresh, tick)
        emissions = stack([corrections, closed])
        if emissions is not None:
            emissions = emissions.sort(END, _PANE, *self.layout.keys, nulls_last=False)
            if self.lateness:
                emitted = stack([emitted, emissions.select(*self.layout.keys, _PANE, pl.lit(1, pl.Int32).alias(REVISION))])
            emissions = emissions.with_columns(self.kind.start_of(pl.col(_PANE)).alias(START))
        return StepResult(self._settle(held, fresh, emitted, tick), emissions)

    def _corrections(
        self,
        held: pl.DataFrame | None,
        fresh: pl.DataFrame | None,
        rows: pl.DataFrame | None,
        emitted: pl.DataFrame | None,
        tick: BatchTime,
    ) -> pl.DataFrame | None:
        """Windows that had closed and are still kept, and that rows of this batch fell into: emitted again."""
        if not self.lateness or rows is None or tick.before is None:
            return None
        least_end = max(latest_end_over(tick.before, self.lateness), tick.evicted)
        touched = self._windows(rows.select(*self.layout.keys, SLICE), least_end, tick.before)
        if not touched.height:
            return None
        touched = touched.select(*self.layout.keys, _PANE).unique()
        everything = self._windows_of(self._of_groups(held, touched), self._of_groups(fresh, touched), least_end, tick.before)
        assert everything is not None, "the rows of this batch are among the fresh ones"
        window = (*self.layout.keys, _PANE)
        merged = self._emission(join_on(everything, touched, window, "semi"), LATE)
        if emitted is None:
            return merged
        before = join_on(emitted, touched, window, "semi").group_by(window).agg(pl.col(REVISION).sum().alias("_before"))
        numbered = join_on(merged, before, window, "left")
        return numbered.with_columns((pl.col("_before").fill_null(0) + 1).cast(pl.Int32).alias(REVISION)).drop("_before")

    def _of_groups(self, slices: pl.DataFrame | None, touched: pl.DataFrame) -> pl.DataFrame | None:
        if slices is None or not self.layout.keys:
            return slices
        return join_on(slices, touched.select(self.layout.keys).unique(), self.layout.keys, "semi")

    def _closed(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, tick: BatchTime) -> pl.DataFrame | None:
        """Windows whose end the watermark passed in this batch."""
        if tick.after is None or tick.watermark_after <= tick.watermark_before:
            return None
        if self.kind.end_of(self.kind.earliest_open_pane(tick.watermark_before)) > tick.after:
            return None
        due = self._windows_of(held, fresh, tick.watermark_before, tick.after)
        return None if due is None else self._emission(due, FINAL)

    def _windows_of(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, after_end: int, up_to_end: int) -> pl.DataFrame | None:
        least, most = after_end - self.kind.size, up_to_end
        parts = [frame.filter(pl.col(SLICE).is_between(least, most)) for frame in (held, fresh) if frame is not None]
        everything = stack(list(parts))
        if everything is None:
            return None
        windows = self._windows(everything, after_end, up_to_end)
        return windows if windows.height else None

    def _windows(self, slices: pl.DataFrame, after_end: int, up_to_end: int) -> pl.DataFrame:
        """Each slice once for every window it belongs to whose end lies in ``(after_end, up_to_end]``."""
        kind, length = self.kind, self.kind.pane_length
        if not kind.overlaps:
            return slices.rename({SLICE: _PANE}).filter((pl.col(_PANE) + length).is_between(after_end, up_to_end, closed="right"))
        first, last = kind.first_pane(pl.col(SLICE)), kind.last_pane(pl.col(SLICE))
        # Only the windows in question are spelled out, so a long window costs no more than its due part.
        if after_end > NEVER:
            first = pl.max_horizontal(first, pl.lit(kind.earliest_open_pane(after_end), pl.Int64))
        last = pl.min_horizontal(last, pl.lit(up_to_end - length, pl.Int64))
        panes = pl.int_ranges(first, last + 1, kind.pane_step).alias(_PANE)
        exploded = slices.filter(first <= last).with_columns(panes).explode(_PANE)
        return self._own(exploded.drop(SLICE))

    def _own(self, windows: pl.DataFrame) -> pl.DataFrame:
        start = self.kind.start_of(pl.col(_PANE))
        windows = windows if self.starts_from is None else windows.filter(start >= self.starts_from)
        return windows if self.starts_before is None else windows.filter(start < self.starts_before)

    def _emission(self, windows: pl.DataFrame, kind: str) -> pl.DataFrame:
        return self.layout.merge(windows, _PANE).with_columns(
            self.kind.end_of(pl.col(_PANE)).alias(END),
            pl.lit(kind).alias(EMISSION),
            pl.lit(1, pl.Int32).alias(REVISION),
        )

    def _settle(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, emitted: pl.DataFrame | None, tick: BatchTime) -> Tables:
        """Let go of what no window will ask for, and merge the pile once it is as large as what was merged before."""
        if tick.after is not None:
            # Everything before the earliest window that is still kept. Where nothing goes, a filter copies nothing.
            earliest = self.kind.earliest_open_pane(tick.retention_bound(self.lateness))
            kept = pl.lit(self.kind.start_of(earliest), pl.Int64)
            held = None if held is None else held.filter(pl.col(SLICE) >= kept)
            fresh = None if fresh is None else fresh.filter(pl.col(SLICE) >= kept)
            emitted = None if emitted is None else emitted.filter(pl.col(_PANE) >= pl.lit(earliest, pl.Int64))
        if fresh is not None and (held is None or fresh.height >= held.height):
            both = stack([held, fresh])
            held, fresh = (None if both is None else self.layout.merge(both, SLICE).rechunk()), None
        fresh, emitted = _tidy(fresh), _tidy(emitted)
        tables = {HELD: held, FRESH: fresh, EMITTED: emitted}
        return {name: table for name, table in tables.items() if table is not None and table.height}

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        everything = stack([state.get(HELD), state.get(FRESH)])
        if everything is None:
            return None
        bounds = (pl.col(SLICE).alias(START), self.kind.last_end(pl.col(SLICE)).alias(END))
        return everything.select(*self.layout.keys, *bounds, COUNT).group_by([*self.layout.keys, START, END]).agg(pl.col(COUNT).sum())


def _tidy(pile: pl.DataFrame | None) -> pl.DataFrame | None:
    """A pile of many small pieces is slow to look through."""
    return pile.rechunk() if pile is not None and pile.n_chunks() > MOST_CHUNKS else pile
