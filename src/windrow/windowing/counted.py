"""ROWS(n): a window closes every n rows of its group, in arrival order. Time plays no part but in the bounds shown."""

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
    FIRST,
    FOREVER,
    LAST,
    REVISION,
    SEQ,
    START,
    Layout,
    join_on,
)
from windrow.windowing.delta_table import DeltaTable
from windrow.windowing.emit_policy import AT_CLOSE, DIRTY, EMITTED_AT, WHEN, EmitPolicy
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

_NUMBER = "_window_number"
_BEFORE = "_rows_before"
_BLOCK = "_count_block"
_EMITS = "_count_emits"

# EMIT CHANGES shows a window after each of its rows: so many rows of a group are taken at a time, since every one of them is
# merged again for each that follows it.
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class CountStep:
    """Rows come one by one, each with its own partial. The last window of a group that is not full closes at the end of input."""

    layout: Layout
    count: int
    emit_policy: EmitPolicy = AT_CLOSE

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        delta = DeltaTable.of(state, self.layout.keys)
        emissions: list[pl.DataFrame | None] = []
        if rows is not None and rows.height:
            delta, emitted = self._row_by_row(delta, rows, tick) if self.emit_policy.by_row else self._take(delta, rows, tick)
            emissions.append(emitted)
        if not _is_end(tick):
            delta, early = self._interval_emissions(delta, tick)
            return StepResult(delta.tables(), stack([*emissions, early]))
        left = delta.everything()
        if left is not None and self.emit_policy.on_close:
            closed = left.with_columns((pl.col(REVISION) + 1).cast(pl.Int32), pl.lit(FINAL).alias(EMISSION))
            emissions.append(self._shape(closed).sort(END, START, *self.layout.keys))
        return StepResult({}, stack(emissions))

    @property
    def _columns(self) -> tuple[str, ...]:
        """What is held of a window. Only triggers ask when it emitted, and whether there is anything new."""
        books = (EMITTED_AT, DIRTY) if self.emit_policy.is_early else ()
        return (*self.layout.keys, FIRST, LAST, COUNT, *self.layout.parts, REVISION, *books)

    def _take(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Merge what is held and the rows into windows, and let those emit that should, in the order of their last rows."""
        held, delta = delta.take(rows.select(self.layout.keys).unique())
        partials = self._numbered(held, rows, tick)
        window = (*self.layout.keys, _NUMBER)
        books = partials.group_by(window).agg(
            pl.col(FIRST).min(), pl.col(LAST).max(), pl.col(SEQ).max(), pl.col(REVISION).max(), pl.col(EMITTED_AT).min()
        )
        windows = join_on(books, self.layout.merge(partials, _NUMBER), window, "inner").sort(SEQ)
        is_full = pl.col(COUNT) == self.count
        emits = pl.lit(self.emit_policy.per_batch) | (is_full & self.emit_policy.on_close)
        kind = pl.when(is_full & self.emit_policy.on_close).then(pl.lit(FINAL)).otherwise(pl.lit(CHANGE))
        after = windows.with_columns((pl.col(REVISION) + emits.cast(pl.Int32)).cast(pl.Int32).alias(REVISION), kind.alias(EMISSION))
        left = after.filter(~is_full).with_columns(pl.lit(True).alias(DIRTY))
        emissions = after.filter(emits)
        emitted = self._shape(emissions).with_columns(emissions[SEQ])
        return delta.put(left.select(self._columns)), emitted if emitted.height else None

    def _interval_emissions(self, delta: DeltaTable, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Windows that changed and have been silent for the interval of TRIGGER EVERY."""
        if self.emit_policy.interval is None:
            return delta, None
        due = delta.where(pl.col(DIRTY) & (tick.now - pl.col(EMITTED_AT) >= self.emit_policy.interval))
        if due is None:
            return delta, None
        _, delta = delta.take(due.select(self.layout.keys))
        emitted = due.with_columns(
            (pl.col(REVISION) + 1).cast(pl.Int32), pl.lit(tick.now, pl.Int64).alias(EMITTED_AT), pl.lit(False).alias(DIRTY)
        )
        emissions = self._shape(emitted.with_columns(pl.lit(EARLY).alias(EMISSION))).sort(START, *self.layout.keys)
        return delta.put(emitted), emissions

    def _numbered(self, held: pl.DataFrame | None, rows: pl.DataFrame, tick: BatchTime) -> pl.DataFrame:
        """All partials numbered by window: what is held is the beginning of window 0 of its group."""
        keys = list(self.layout.keys)
        when = pl.col(WHEN).fill_null(False) if self.emit_policy.when else pl.lit(False)
        own = rows.select(*keys, FIRST, LAST, COUNT, *self.layout.parts, SEQ, when.alias(WHEN)).sort(SEQ)
        if held is None:
            own = own.with_columns(pl.lit(0, pl.Int64).alias(_BEFORE))
        else:
            before = held.select(*keys, pl.col(COUNT).alias(_BEFORE))
            own = own.join(before, on=keys, how="left", nulls_equal=True) if keys else own.join(before, how="cross")
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        index = index.over(keys, order_by=SEQ) if keys else index
        own = own.with_columns(
            ((index + pl.col(_BEFORE).fill_null(0)) // self.count).alias(_NUMBER),
            pl.lit(0, pl.Int32).alias(REVISION),
            pl.lit(tick.now, pl.Int64).alias(EMITTED_AT),
        ).drop(_BEFORE)
        known = None if held is None else held.with_columns(pl.lit(0, pl.Int64).alias(_NUMBER), pl.lit(None, pl.Int64).alias(SEQ))
        every = stack([known, own])
        assert every is not None
        return every

    def _row_by_row(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Single rows make a window emit: it is shown as it stood after each of them."""
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        rows = rows.sort(SEQ)
        rows = rows.with_columns(((index.over(self.layout.keys) if self.layout.keys else index) // ROWS_AT_ONCE).alias(_BLOCK))
        emissions: list[pl.DataFrame | None] = []
        for block in rows.partition_by(_BLOCK, maintain_order=True):
            delta, emitted = self._take_block(delta, block, tick)
            emissions.append(emitted)
        every = stack(emissions)
        return delta, None if every is None else every.sort(SEQ)

    def _take_block(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame]:
        held, delta = delta.take(rows.select(self.layout.keys).unique())
        partials = self._numbered(held, rows, tick)
        window = [*self.layout.keys, _NUMBER]
        running = partials.with_columns(
            pl.col(FIRST).cum_min().over(window),
            pl.col(LAST).cum_max().over(window),
            pl.int_range(pl.len()).over(window).alias("_place"),
        ).drop(COUNT, *self.layout.parts)
        merged = self.layout.merge_members(partials, _up_to_each(partials, window))
        running = pl.concat([running, merged], how="horizontal")
        running = running.with_columns((pl.col(SEQ).is_not_null() & self._emits()).alias(_EMITS), self._kind().alias(EMISSION))
        running = running.with_columns(
            (pl.col(REVISION).max() + pl.col(_EMITS).cum_sum()).over(window).cast(pl.Int32).alias(REVISION),
            pl.when(pl.col(_EMITS).any())
            .then(pl.lit(tick.now, pl.Int64))
            .otherwise(pl.col(EMITTED_AT).min())
            .over(window)
            .alias(EMITTED_AT),
            (~pl.col(_EMITS)).alias(DIRTY),
        )
        last = running.filter(pl.col("_place") == pl.col("_place").max().over(window))
        emitted = running.filter(_EMITS)
        left = last.filter(pl.col(COUNT) < self.count)
        return delta.put(left.select(self._columns)), self._shape(emitted).with_columns(emitted[SEQ])

    def _emits(self) -> pl.Expr:
        """Whether a row makes its window emit at once. One that fills it up does so once, as the final emission if that is wanted."""
        if self.emit_policy.every_row:
            return pl.lit(True)
        emits = (pl.col(COUNT) == self.count) & self.emit_policy.on_close
        if self.emit_policy.every_records is not None:
            emits = emits | (pl.col(COUNT) % self.emit_policy.every_records == 0)
        return emits | pl.col(WHEN)

    def _kind(self) -> pl.Expr:
        if self.emit_policy.every_row:
            return pl.lit(CHANGE)
        is_final = (pl.col(COUNT) == self.count) & self.emit_policy.on_close
        return pl.when(is_final).then(pl.lit(FINAL)).otherwise(pl.lit(EARLY))

    def _shape(self, emitted: pl.DataFrame) -> pl.DataFrame:
        return emitted.select(
            *self.layout.keys, pl.col(FIRST).alias(START), pl.col(LAST).alias(END), COUNT, *self.layout.parts, EMISSION, REVISION
        )

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = DeltaTable.of(state, self.layout.keys).everything()
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


def _is_end(tick: BatchTime) -> bool:
    return tick.after is not None and tick.after >= FOREVER
