"""ROWS(n): a window closes every n rows of its group, in arrival order. Time plays no part but in the bounds shown."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import CHANGE, COUNT, EMISSION, END, FINAL, FIRST, FOREVER, LAST, REVISION, SEQ, START, Layout
from windrow.windowing.step import StepResult, Tables, Tick, stack

HELD = "held"
_NUMBER = "_number"


@dataclass(frozen=True)
class CountStep:
    """Rows come one by one, each with its own partial. The last window of a group that is not full closes at the end of input."""

    layout: Layout
    count: int
    every_row: bool = False

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        held = state.get(HELD)
        if self.every_row and rows is not None and rows.height > 1:
            return self._row_by_row(state, rows.sort(SEQ), tick)
        spoken: list[pl.DataFrame | None] = []
        if rows is not None and rows.height:
            held = self._take(held, rows.sort(SEQ))
            spoken.append(self._speak(held))
            held = held.filter(pl.col(COUNT) < self.count).drop(_NUMBER)
        if held is not None and held.height:
            spoken.append(self._end_of_input(held, tick))
        ended = _is_end(tick)
        return StepResult({} if held is None or not held.height or ended else {HELD: held}, stack(spoken))

    def _row_by_row(self, state: Tables, rows: pl.DataFrame, tick: Tick) -> StepResult:
        spoken: list[pl.DataFrame | None] = []
        for index in range(rows.height):
            result = self.step(state, rows.slice(index, 1), tick)
            state = result.state
            spoken.append(result.emissions)
        return StepResult(state, stack(spoken))

    def _take(self, held: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame:
        """All rows numbered by window: what is held is the beginning of window 0 of its group."""
        keys = list(self.layout.keys)
        own = rows.select(*keys, FIRST, LAST, COUNT, *self.layout.parts, SEQ)
        if held is not None:
            before = held.select(*keys, pl.col(COUNT).alias("_before"))
            own = own.join(before, on=keys, how="left", nulls_equal=True) if keys else own.join(before, how="cross")
        else:
            own = own.with_columns(pl.lit(0, pl.Int64).alias("_before"))
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        index = index.over(keys, order_by=SEQ) if keys else index
        own = own.with_columns(((index + pl.col("_before").fill_null(0)) // self.count).alias(_NUMBER)).drop(SEQ, "_before")
        known = None if held is None else held.drop(REVISION).with_columns(pl.lit(0, pl.Int64).alias(_NUMBER))
        every = stack([known, own])
        assert every is not None
        merged = every.group_by([*keys, _NUMBER], maintain_order=True).agg(
            pl.col(FIRST).min(), pl.col(LAST).max(), pl.col(COUNT).sum(), *self.layout.merges
        )
        revisions = pl.lit(0, pl.Int32).alias(REVISION)
        if held is None or not self.every_row:
            return merged.with_columns(revisions)
        counted = held.select(*keys, REVISION).with_columns(pl.lit(0, pl.Int64).alias(_NUMBER))
        joined = merged.join(counted, on=[*keys, _NUMBER], how="left", nulls_equal=True)
        return joined.with_columns(pl.col(REVISION).fill_null(0).cast(pl.Int32)).with_columns((pl.col(REVISION) + 1).cast(pl.Int32))

    def _speak(self, merged: pl.DataFrame) -> pl.DataFrame | None:
        said = merged if self.every_row else merged.filter(pl.col(COUNT) == self.count)
        if not said.height:
            return None
        kind = CHANGE if self.every_row else FINAL
        return self._shape(said.sort(_NUMBER, maintain_order=True), kind)

    def _shape(self, said: pl.DataFrame, kind: str) -> pl.DataFrame:
        return said.select(
            *self.layout.keys,
            pl.col(FIRST).alias(START),
            pl.col(LAST).alias(END),
            COUNT,
            *self.layout.parts,
            pl.lit(kind).alias(EMISSION),
            pl.max_horizontal(pl.col(REVISION), pl.lit(1, pl.Int32)).cast(pl.Int32).alias(REVISION),
        )

    def _end_of_input(self, held: pl.DataFrame, tick: Tick) -> pl.DataFrame | None:
        return self._shape(held, FINAL) if _is_end(tick) and not self.every_row else None

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = state.get(HELD)
        if held is None:
            return None
        return held.select(*self.layout.keys, pl.col(FIRST).alias(START), pl.col(LAST).alias(END), COUNT)


def _is_end(tick: Tick) -> bool:
    return tick.after is not None and tick.after >= FOREVER
