"""Joins inside windows: which windows of which rows close now, and which rows of two sides meet there.

A window is joined once, when it closes: a pair comes out for each window that holds both of its rows, and a row of an outer side for
each window in which it met nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.model.lateness import over_at
from windrow.model.window_kinds import FixedKind
from windrow.windowing.columns import COUNT, END, FOREVER, NEVER, START, TIME, join_on
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, RIGHT_ID, Until, alike, with_keys
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

SIDE = "_side"  # 0: left, 1: right
_NTH, _OTHER_TIME, _SESSION = "_nth", "_other_t", "_session"


@dataclass(frozen=True)
class FixedWindows:
    """Windows whose bounds the clock makes; they close so long after their end (``lateness``)."""

    kind: FixedKind
    lateness: int = 0

    @property
    def until(self) -> Until:
        """From which watermark on no window takes a row any more."""
        return Until(over_at(self.kind.size, self.lateness), self.kind.cycle or self.kind.pane_step, self.kind.offset)

    def closing(self, rows: pl.DataFrame, tick: BatchTime) -> pl.DataFrame:
        """Each row once for every window of it that closes in this batch, with the bounds of the window."""
        if tick.watermark_after <= NEVER:
            return rows.clear().with_columns(pl.lit(0, pl.Int64).alias(START), pl.lit(0, pl.Int64).alias(END))
        step, last = self.kind.pane_step, self.kind.last_pane(pl.col(TIME))
        closes = over_at(self.kind.end_of(last), self.lateness)
        # The windows of a row are numbered from its last one backwards.
        first_closing = _up(closes - tick.watermark_after, step).clip(lower_bound=0)
        closed = _up(closes - tick.watermark_before, step) if tick.watermark_before > NEVER else pl.lit(FOREVER, pl.Int64)
        beyond = (last - self.kind.first_pane(pl.col(TIME))) // step + 1
        counted = rows.with_columns(last.alias(START), pl.int_ranges(first_closing, pl.min_horizontal(closed, beyond)).alias(_NTH))
        each = counted.filter(pl.col(_NTH).list.len() > 0).explode(_NTH)
        pane = pl.col(START) - pl.col(_NTH) * step
        return each.with_columns(self.kind.start_of(pane).alias(START), self.kind.end_of(pane).alias(END)).drop(_NTH)


def _up(value: pl.Expr, unit: int) -> pl.Expr:
    """A quotient, rounded up."""
    return -((-value) // unit)


@dataclass(frozen=True)
class SessionWindows:
    """Sessions of one key over the rows of both sides: rows at most ``gap`` apart are one session."""

    gap: int
    lateness: int = 0

    @property
    def until(self) -> Until:
        """From which watermark on a row alone is in no session that takes a row any more."""
        return Until(over_at(self.gap, self.lateness))

    def sessions(self, rows: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
        """The rows of both sides with the bounds of their session."""
        ordered = rows.sort(*keys, TIME, nulls_last=True)
        changes = [pl.col(key).ne_missing(pl.col(key).shift()) for key in keys]
        begins = pl.any_horizontal(pl.col(TIME) - pl.col(TIME).shift() > self.gap, *changes).fill_null(True)
        numbered = ordered.with_columns(begins.cum_sum().alias(_SESSION))
        start, end = pl.col(TIME).min().over(_SESSION), pl.col(TIME).max().over(_SESSION) + self.gap
        return numbered.with_columns(start.alias(START), end.alias(END)).drop(_SESSION)


def pairs_in_windows(left: pl.DataFrame, right: pl.DataFrame, keys: tuple[str, ...], comparable: tuple[str, ...]) -> pl.DataFrame:
    """Pairs of rows of the same window with the same keys, by their numbers; of ``comparable`` keys, NULL is equal to nothing.

    In the order of windows, then of the later row of a pair, then of arrival.
    """
    ours = left.select(*keys, START, END, pl.col(ID).alias(LEFT_ID), pl.col(TIME).alias(_OTHER_TIME))
    theirs = right.select(*keys, START, END, pl.col(ID).alias(RIGHT_ID), TIME)
    ours, theirs = alike(with_keys(ours, comparable), with_keys(theirs, comparable), keys)
    pairs = join_on(ours, theirs, (*keys, START, END), "inner")
    return pairs.sort(END, START, pl.max_horizontal(_OTHER_TIME, TIME), LEFT_ID, RIGHT_ID).select(LEFT_ID, RIGHT_ID, START, END)


def unpaired(closing: pl.DataFrame, pairs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows of a side, once for each window in which they met nothing."""
    alone = closing.select(pl.col(ID).alias(column), START, END, TIME).join(
        pairs.select(column, START, END), on=[column, START, END], how="anti"
    )
    return alone.sort(END, START, TIME, column).select(column, START, END)


@dataclass(frozen=True)
class WindowSideStep:
    """The rows of one side: until their last window has closed (``until``), or until they are told to go."""

    keys: tuple[str, ...]
    until: Until | None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held = state.get(HELD)
        if rows is not None:
            gone = rows.filter(pl.col(MARK))[ID]
            if held is not None and len(gone):
                held = held.filter(~pl.col(ID).is_in(gone.implode()))
            # A row may come and go in the same batch.
            held = stack([held, rows.filter(~pl.col(MARK) & ~pl.col(ID).is_in(gone.implode())).drop(MARK)])
        if held is not None and self.until is not None:
            held = held.filter(self.until.of(pl.col(TIME)) > tick.watermark_after)
        return StepResult({} if held is None or not held.height else {HELD: held})

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        """The rows that wait, by key. Keys are text."""
        held = state.get(HELD)
        if held is None or not held.height:
            return None
        until = pl.col(TIME) if self.until is None else self.until.of(pl.col(TIME))
        bounds = (pl.col(TIME).min().alias(START), until.max().alias(END), pl.len().cast(pl.Int64).alias(COUNT))
        return held.group_by(pl.col(key).cast(pl.String) for key in self.keys).agg(bounds)
