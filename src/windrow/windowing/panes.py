"""Windows that speak before they close: state is one pane per group and window, and rows arrive in order.

Used for EMIT CHANGES, for triggers, and for groups without a window (one pane that never ends). Rows come as running
partials: each holds its group's total over this batch so far, so that every row can show what it changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import (
    CHANGE,
    COUNT,
    EARLY,
    EMISSION,
    END,
    FINAL,
    FOREVER,
    LATE,
    REVISION,
    SEQ,
    SLICE,
    START,
    Layout,
    join_on,
)
from windrow.windowing.step import StepResult, Tables, Tick, stack

PANES = "panes"
WHEN = "_when"  # whether a row satisfies TRIGGER WHEN
EMITTED_AT = "_emitted_at"
DIRTY = "_dirty"
_ROW = "_row_index"
_OWN = "_own"


@dataclass(frozen=True)
class Speech:
    """When a pane speaks. ``every_row`` is EMIT CHANGES; ``per_batch`` keeps only the last of these in a batch; ``once`` is DISTINCT."""

    every_row: bool = False
    per_batch: bool = False
    on_close: bool = False
    every_records: int | None = None
    when: bool = False
    interval: int | None = None
    once: bool = False


@dataclass(frozen=True)
class PaneStep:
    """``size`` is None for groups without a window. ``ttl`` lets a group go that had no row for so long."""

    layout: Layout
    speech: Speech
    size: int | None = None
    lateness: int = 0
    ttl: int | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        panes = self._expire_idle(state.get(PANES), tick)
        spoken: list[pl.DataFrame | None] = []
        if rows is not None and rows.height:
            running = self._running(panes, rows.sort(SEQ), tick)
            said = self._row_emissions(running, tick)
            spoken.append(said)
            panes = self._absorb(panes, running, said, tick)
        if panes is not None:
            panes, early = self._interval_emissions(panes, tick)
            closed = self._close(panes, tick)
            spoken.extend([early, closed])
            panes = self._let_go(panes, tick)
        return StepResult({} if panes is None or not panes.height else {PANES: panes}, stack(spoken))

    @property
    def _pane(self) -> tuple[str, ...]:
        return (*self.layout.keys, SLICE)

    def _end(self) -> pl.Expr:
        return pl.lit(FOREVER, pl.Int64) if self.size is None else pl.col(SLICE) + self.size

    def _running(self, panes: pl.DataFrame | None, rows: pl.DataFrame, tick: Tick) -> pl.DataFrame:
        """Each row with its pane's whole state up to it: what was held, merged with the batch so far."""
        rows = rows.with_row_index(_ROW)
        rows = rows.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(self._pane, order_by=_ROW).alias(_OWN))
        bookkeeping = {REVISION: pl.Int32, EMITTED_AT: pl.Int64, "_held": pl.Int64}
        if panes is None:
            return rows.with_columns(pl.lit(0, pl.Int32).alias(REVISION), pl.lit(tick.now).alias(EMITTED_AT), pl.lit(0, pl.Int64).alias("_held"))
        place = rows.select(_ROW, *self._pane)
        seeds = join_on(place, panes, self._pane, "inner")
        seed_books = seeds.select(_ROW, REVISION, EMITTED_AT, pl.col(COUNT).alias("_held"))
        parts = [_ROW, COUNT, *self.layout.parts]
        both = stack([seeds.select(parts), rows.select(parts)])
        assert both is not None
        merged = both.group_by(_ROW).agg(pl.col(COUNT).sum(), *self.layout.merges)
        outer = rows.drop(COUNT, *self.layout.parts).join(merged, on=_ROW, how="left").join(seed_books, on=_ROW, how="left")
        defaults = {REVISION: 0, EMITTED_AT: tick.now, "_held": 0}
        return outer.with_columns(pl.col(c).fill_null(defaults[c]).cast(t) for c, t in bookkeeping.items()).sort(_ROW)

    def _row_emissions(self, running: pl.DataFrame, tick: Tick) -> pl.DataFrame | None:
        """The rows that make their pane speak at once, numbered on from what the pane had said before."""
        speech = self.speech
        is_late = self._end() <= tick.judged_by
        speaks: pl.Expr = pl.lit(False)
        if speech.every_row:
            speaks = pl.lit(True)
        if speech.once:
            speaks = (pl.col("_held") == 0) & (pl.col(_OWN) == 1)
        if speech.per_batch:
            speaks = pl.col(_ROW) == pl.col(_ROW).max().over(self._pane)
        if speech.every_records is not None:
            # A running count crosses a multiple even where a partial stands for several rows.
            speaks = speaks | (pl.col(COUNT) % speech.every_records == 0)
        if speech.when:
            speaks = speaks | pl.col(WHEN).fill_null(False)
        if not (speech.every_row or speech.per_batch or speech.once):
            speaks = pl.when(is_late).then(pl.col(_ROW) == pl.col(_ROW).max().over(self._pane)).otherwise(speaks)
        said = running.filter(speaks)
        if not said.height:
            return None
        kind = CHANGE if speech.every_row or speech.per_batch or speech.once else EARLY
        numbered = said.with_columns(
            (pl.col(REVISION) + pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(self._pane, order_by=_ROW)).cast(pl.Int32).alias(REVISION),
            pl.when(is_late).then(pl.lit(LATE)).otherwise(pl.lit(kind)).alias(EMISSION),
        )
        return self._shape(numbered)

    def _shape(self, spoken: pl.DataFrame) -> pl.DataFrame:
        return spoken.with_columns(self._end().alias(END)).select(
            *self.layout.keys, pl.col(SLICE).alias(START), END, COUNT, *self.layout.parts, EMISSION, REVISION
        )

    def _absorb(self, panes: pl.DataFrame | None, running: pl.DataFrame, said: pl.DataFrame | None, tick: Tick) -> pl.DataFrame | None:
        """The panes after the batch: each touched one takes the state of its last row."""
        last = running.filter(pl.col(_ROW) == pl.col(_ROW).max().over(self._pane))
        if said is None:
            said_counts = last.select(*self._pane).with_columns(pl.lit(0, pl.Int32).alias("_said"))
        else:
            said_counts = said.rename({START: SLICE}).group_by(list(self._pane)).agg(pl.len().cast(pl.Int32).alias("_said"))
        last = join_on(last, said_counts, self._pane, "left").with_columns(pl.col("_said").fill_null(0))
        spoke = pl.col("_said") > 0
        fresh = last.select(
            *self._pane,
            COUNT,
            *self.layout.parts,
            (pl.col(REVISION) + pl.col("_said")).cast(pl.Int32).alias(REVISION),
            pl.when(spoke).then(pl.lit(tick.now)).otherwise(pl.col(EMITTED_AT)).cast(pl.Int64).alias(EMITTED_AT),
            (~spoke).alias(DIRTY),
            pl.lit(tick.now, pl.Int64).alias("_seen_at"),
        )
        untouched = None if panes is None else join_on(panes, fresh.select(*self._pane), self._pane, "anti")
        return stack([untouched, fresh])

    def _interval_emissions(self, panes: pl.DataFrame, tick: Tick) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Panes that changed and have been silent for the interval of TRIGGER EVERY, and are still open."""
        if self.speech.interval is None:
            return panes, None
        due = pl.col(DIRTY) & (tick.now - pl.col(EMITTED_AT) >= self.speech.interval) & (self._end() > tick.reached)
        spoken = panes.filter(due)
        if not spoken.height:
            return panes, None
        spoken = spoken.with_columns(pl.col(REVISION) + 1, pl.lit(EARLY).alias(EMISSION))
        panes = panes.with_columns(
            pl.when(due).then(pl.col(REVISION) + 1).otherwise(pl.col(REVISION)).cast(pl.Int32).alias(REVISION),
            pl.when(due).then(pl.lit(tick.now)).otherwise(pl.col(EMITTED_AT)).cast(pl.Int64).alias(EMITTED_AT),
            pl.when(due).then(pl.lit(False)).otherwise(pl.col(DIRTY)).alias(DIRTY),
        )
        return panes, self._shape(spoken).sort(START, *self.layout.keys)

    def _close(self, panes: pl.DataFrame, tick: Tick) -> pl.DataFrame | None:
        if not self.speech.on_close or tick.reached <= tick.judged_by:
            return None
        due = panes.filter((self._end() > tick.judged_by) & (self._end() <= tick.reached))
        if not due.height:
            return None
        spoken = due.with_columns((pl.col(REVISION) + 1).cast(pl.Int32), pl.lit(FINAL).alias(EMISSION))
        return self._shape(spoken).sort(END, *self.layout.keys)

    def _let_go(self, panes: pl.DataFrame, tick: Tick) -> pl.DataFrame:
        if self.speech.on_close and self.lateness and tick.reached > tick.judged_by:
            # The final emission counts as a revision for the corrections that may follow.
            closing = (self._end() > tick.judged_by) & (self._end() <= tick.reached)
            panes = panes.with_columns(pl.when(closing).then(pl.col(REVISION) + 1).otherwise(pl.col(REVISION)).cast(pl.Int32).alias(REVISION))
        return panes.filter(self._end() + self.lateness > tick.reached)

    def _expire_idle(self, panes: pl.DataFrame | None, tick: Tick) -> pl.DataFrame | None:
        if panes is None or self.ttl is None:
            return panes
        kept = panes.filter(tick.now - pl.col("_seen_at") < self.ttl)
        return kept if kept.height else None

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        panes = state.get(PANES)
        if panes is None:
            return None
        return panes.select(*self.layout.keys, pl.col(SLICE).alias(START), self._end().alias(END), COUNT)
