"""ROWS(n): a window closes every n rows of its group, in arrival order. Time plays no part but in the bounds shown."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import CHANGE, COUNT, EMISSION, END, FINAL, FIRST, FOREVER, LAST, REVISION, SEQ, START, Layout, join_on
from windrow.windowing.shelf import Shelf
from windrow.windowing.step import StepResult, Tables, Tick, stack

_NUMBER = "_number"
_BEFORE = "_before"
_BLOCK = "_block"

# EMIT CHANGES shows a window after each of its rows: so many rows of a group are taken at a time, since every one of them is
# merged again for each that follows it.
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class CountStep:
    """Rows come one by one, each with its own partial. The last window of a group that is not full closes at the end of input."""

    layout: Layout
    count: int
    every_row: bool = False

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        shelf = Shelf.of(state, self.layout.keys)
        spoken: list[pl.DataFrame | None] = []
        if rows is not None and rows.height:
            shelf, said = self._row_by_row(shelf, rows) if self.every_row else self._take(shelf, rows)
            spoken.append(said)
        if not _is_end(tick):
            return StepResult(shelf.tables(), stack(spoken))
        left = shelf.everything()
        if left is not None and not self.every_row:
            spoken.append(self._shape(left.with_columns(pl.lit(1, pl.Int32).alias(REVISION)), FINAL).sort(END, START, *self.layout.keys))
        return StepResult({}, stack(spoken))

    def _take(self, shelf: Shelf, rows: pl.DataFrame) -> tuple[Shelf, pl.DataFrame | None]:
        """Merge what is held and the rows into windows, and let the full ones speak in the order they filled up."""
        held, shelf = shelf.take(rows.select(self.layout.keys).unique())
        partials = self._numbered(held, rows)
        window = (*self.layout.keys, _NUMBER)
        books = partials.group_by(window).agg(pl.col(FIRST).min(), pl.col(LAST).max(), pl.col(SEQ).max())
        windows = join_on(books, self.layout.merge(partials, _NUMBER), window, "inner")
        full = windows.filter(pl.col(COUNT) == self.count).sort(SEQ)
        left = windows.filter(pl.col(COUNT) < self.count).drop(_NUMBER, SEQ)
        said = self._shape(full.with_columns(pl.lit(1, pl.Int32).alias(REVISION)), FINAL).with_columns(full[SEQ]) if full.height else None
        return shelf.put(left.with_columns(pl.lit(0, pl.Int32).alias(REVISION))), said

    def _numbered(self, held: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame:
        """All partials numbered by window: what is held is the beginning of window 0 of its group."""
        keys = list(self.layout.keys)
        own = rows.select(*keys, FIRST, LAST, COUNT, *self.layout.parts, SEQ).sort(SEQ)
        if held is None:
            own = own.with_columns(pl.lit(0, pl.Int64).alias(_BEFORE))
        else:
            before = held.select(*keys, pl.col(COUNT).alias(_BEFORE))
            own = own.join(before, on=keys, how="left", nulls_equal=True) if keys else own.join(before, how="cross")
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        index = index.over(keys, order_by=SEQ) if keys else index
        own = own.with_columns(((index + pl.col(_BEFORE).fill_null(0)) // self.count).alias(_NUMBER)).drop(_BEFORE)
        known = None if held is None else held.with_columns(pl.lit(0, pl.Int64).alias(_NUMBER), pl.lit(None, pl.Int64).alias(SEQ))
        every = stack([known, own])
        assert every is not None
        return every

    def _row_by_row(self, shelf: Shelf, rows: pl.DataFrame) -> tuple[Shelf, pl.DataFrame | None]:
        """EMIT CHANGES: each row shows its window as it stood after it."""
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        rows = rows.sort(SEQ)
        rows = rows.with_columns(((index.over(self.layout.keys) if self.layout.keys else index) // ROWS_AT_ONCE).alias(_BLOCK))
        spoken: list[pl.DataFrame | None] = []
        for block in rows.partition_by(_BLOCK, maintain_order=True):
            shelf, said = self._take_block(shelf, block)
            spoken.append(said)
        every = stack(spoken)
        assert every is not None
        return shelf, every.sort(SEQ)

    def _take_block(self, shelf: Shelf, rows: pl.DataFrame) -> tuple[Shelf, pl.DataFrame]:
        held, shelf = shelf.take(rows.select(self.layout.keys).unique())
        partials = self._numbered(held, rows)
        window = [*self.layout.keys, _NUMBER]
        if REVISION not in partials.columns:
            partials = partials.with_columns(pl.lit(None, pl.Int32).alias(REVISION))
        running = partials.with_columns(
            pl.col(FIRST).cum_min().over(window),
            pl.col(LAST).cum_max().over(window),
            # Every row says something, so a revision is the number of rows behind it.
            (pl.col(REVISION).max().fill_null(0) + pl.col(SEQ).is_not_null().cum_sum()).over(window).cast(pl.Int32).alias(REVISION),
            pl.int_range(pl.len()).over(window).alias("_place"),
        ).drop(COUNT, *self.layout.parts)
        merged = self.layout.merge_members(partials, _up_to_each(partials, window))
        running = pl.concat([running, merged], how="horizontal")
        last = running.filter(pl.col("_place") == pl.col("_place").max().over(window))
        left = last.filter(pl.col(COUNT) < self.count)
        said = running.filter(pl.col(SEQ).is_not_null())
        shown = self._shape(said, CHANGE).with_columns(said[SEQ])
        return shelf.put(left.select(*self.layout.keys, FIRST, LAST, COUNT, *self.layout.parts, REVISION)), shown

    def _shape(self, said: pl.DataFrame, kind: str) -> pl.DataFrame:
        return said.select(
            *self.layout.keys,
            pl.col(FIRST).alias(START),
            pl.col(LAST).alias(END),
            COUNT,
            *self.layout.parts,
            pl.lit(kind).alias(EMISSION),
            REVISION,
        )

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = Shelf.of(state, self.layout.keys).everything()
        if held is None:
            return None
        return held.select(*self.layout.keys, pl.col(FIRST).alias(START), pl.col(LAST).alias(END), COUNT)


def _up_to_each(partials: pl.DataFrame, window: list[str]) -> list[list[int]]:
    """For each row the numbers of the rows of its window up to it. Rows of a window stand in order, not side by side."""
    so_far: dict[int, list[int]] = {}
    members = []
    firsts = partials.with_row_index("_row").select(pl.col("_row").first().over(window))["_row"].to_list()
    for row, first in enumerate(firsts):
        so_far[first] = [*so_far.get(first, []), row]
        members.append(so_far[first])
    return members


def _is_end(tick: Tick) -> bool:
    return tick.after is not None and tick.after >= FOREVER
