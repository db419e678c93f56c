"""Tumbling and sliding windows that emit when they close: state is slices, a window is the merge of its slices.

Partials are only put beside each other when they arrive, and merged when a window fires or when the pile has doubled, so a
batch costs what it touches and not what is held. Nothing is kept per window but a count of its emissions, and that only
while late rows may still correct it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.bounds import Fixed
from windrow.windowing.columns import COUNT, EMISSION, END, FINAL, LATE, NEVER, REVISION, SLICE, START, Layout, join_on
from windrow.windowing.step import StepResult, Tables, Tick, stack

HELD, FRESH, EMITTED = "held", "fresh", "emitted"
MOST_CHUNKS = 64


@dataclass(frozen=True)
class SliceStep:
    layout: Layout
    fixed: Fixed
    lateness: int = 0

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        held, fresh = state.get(HELD), stack([state.get(FRESH), rows])
        emitted = state.get(EMITTED)
        corrections = self._corrections(held, fresh, rows, emitted, tick)
        closed = self._closed(held, fresh, tick)
        emissions = stack([corrections, closed])
        if emissions is not None:
            emissions = emissions.sort(END, START, *self.layout.keys, nulls_last=False)
            if self.lateness:
                emitted = stack([emitted, emissions.select(*self.layout.keys, START, pl.lit(1, pl.Int32).alias(REVISION))])
        return StepResult(self._settle(held, fresh, emitted, tick), emissions)

    def _corrections(
        self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, rows: pl.DataFrame | None, emitted: pl.DataFrame | None, tick: Tick
    ) -> pl.DataFrame | None:
        """Windows that had closed and are still kept, and that rows of this batch fell into: emitted again."""
        if not self.lateness or rows is None or tick.before is None:
            return None
        least_end = max(tick.before - self.lateness, tick.evicted)
        touched = self._windows(rows.select(*self.layout.keys, SLICE), least_end, tick.before)
        if not touched.height:
            return None
        touched = touched.select(*self.layout.keys, START).unique()
        everything = self._windows_of(self._of_groups(held, touched), self._of_groups(fresh, touched), least_end, tick.before)
        assert everything is not None, "the rows of this batch are among the fresh ones"
        window = (*self.layout.keys, START)
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

    def _closed(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, tick: Tick) -> pl.DataFrame | None:
        """Windows whose end the watermark passed in this batch."""
        if tick.after is None or tick.reached <= tick.judged_by:
            return None
        if self.fixed.earliest_open_start(tick.judged_by) + self.fixed.size > tick.after:
            return None
        due = self._windows_of(held, fresh, tick.judged_by, tick.after)
        return None if due is None else self._emission(due, FINAL)

    def _windows_of(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, after_end: int, up_to_end: int) -> pl.DataFrame | None:
        least, most = after_end - self.fixed.size, up_to_end
        parts = [frame.filter(pl.col(SLICE).is_between(least, most)) for frame in (held, fresh) if frame is not None]
        everything = stack(list(parts))
        if everything is None:
            return None
        windows = self._windows(everything, after_end, up_to_end)
        return windows if windows.height else None

    def _windows(self, slices: pl.DataFrame, after_end: int, up_to_end: int) -> pl.DataFrame:
        """Each slice once for every window it belongs to whose end lies in ``(after_end, up_to_end]``."""
        fixed = self.fixed
        if fixed.advance == fixed.size:
            return slices.rename({SLICE: START}).filter((pl.col(START) + fixed.size).is_between(after_end, up_to_end, closed="right"))
        into = (pl.col(SLICE) - fixed.offset) % fixed.advance
        last = pl.col(SLICE) - into
        first = last - ((fixed.size - 1 - into) // fixed.advance) * fixed.advance
        # Only the windows in question are spelled out, so a long window costs no more than its due part.
        least = pl.lit(after_end - fixed.size + 1, pl.Int64)
        first = pl.max_horizontal(first, least + (pl.lit(fixed.offset, pl.Int64) - least) % fixed.advance) if after_end > NEVER else first
        last = pl.min_horizontal(last, pl.lit(up_to_end - fixed.size, pl.Int64))
        starts = pl.int_ranges(first, last + 1, fixed.advance).alias(START)
        exploded = slices.filter(first <= last).with_columns(starts).explode(START)
        return exploded.drop(SLICE)

    def _emission(self, windows: pl.DataFrame, kind: str) -> pl.DataFrame:
        return self.layout.merge(windows, START).with_columns(
            (pl.col(START) + self.fixed.size).alias(END),
            pl.lit(kind).alias(EMISSION),
            pl.lit(1, pl.Int32).alias(REVISION),
        )

    def _settle(self, held: pl.DataFrame | None, fresh: pl.DataFrame | None, emitted: pl.DataFrame | None, tick: Tick) -> Tables:
        """Let go of what no window will ask for, and merge the pile once it is as large as what was merged before."""
        if tick.after is not None:
            # Everything before the earliest window that is still kept. Where nothing goes, a filter copies nothing.
            kept = pl.lit(self.fixed.earliest_open_start(tick.kept_beyond(self.lateness)), pl.Int64)
            held = None if held is None else held.filter(pl.col(SLICE) >= kept)
            fresh = None if fresh is None else fresh.filter(pl.col(SLICE) >= kept)
            emitted = None if emitted is None else emitted.filter(pl.col(START) >= kept)
        if fresh is not None and (held is None or fresh.height >= held.height):
            both = stack([held, fresh])
            held, fresh = (None if both is None else self.layout.merge(both, SLICE).rechunk()), None
        fresh, emitted = _tidy(fresh), _tidy(emitted)
        tables = {HELD: held, FRESH: fresh, EMITTED: emitted}
        return {name: table for name, table in tables.items() if table is not None and table.height}

    def _last_end(self, at: pl.Expr) -> pl.Expr:
        return at - (at - self.fixed.offset) % self.fixed.advance + self.fixed.size

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        everything = stack([state.get(HELD), state.get(FRESH)])
        if everything is None:
            return None
        bounds = (pl.col(SLICE).alias(START), self._last_end(pl.col(SLICE)).alias(END))
        return everything.select(*self.layout.keys, *bounds, COUNT).group_by([*self.layout.keys, START, END]).agg(pl.col(COUNT).sum())


def _tidy(pile: pl.DataFrame | None) -> pl.DataFrame | None:
    """A pile of many small pieces is slow to look through."""
    return pile.rechunk() if pile is not None and pile.n_chunks() > MOST_CHUNKS else pile
