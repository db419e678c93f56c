"""Windows that emit before they close: state is one pane per group and window, and rows arrive in order.

Used for EMIT CHANGES, for triggers, and for groups without a window (one pane that never ends). Rows come as running
partials: each holds its group's total over this batch so far, so that every row can show what it changed, and its count is its number
among the rows of its pane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from windrow.model.window_kinds import FixedKind
from windrow.windowing.columns import (
    CHANGE,
    COUNT,
    EARLY,
    EMISSION,
    END,
    FINAL,
    FOREVER,
    LATE,
    NEVER,
    REVISION,
    SEQ,
    SLICE,
    START,
    Layout,
    join_on,
)
from windrow.windowing.delta_table import DeltaTable
from windrow.windowing.emit_policy import DIRTY, EMITTED_AT, WHEN, EmitPolicy
from windrow.windowing.numbering import PANE, by_number, how_many, last_rows, pane_numbers
from windrow.windowing.running import none_yet, put_together
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

SEEN_AT = "_seen_at"
_EMITTED = "_emitted"
_HELD = "_held"
_ROW = "_row_index"
_OWN = "_own"


@dataclass(frozen=True)
class PaneStep:
    """``kind`` is None for groups without a window. ``ttl`` lets a group go that had no row for so long."""

    layout: Layout
    emit_policy: EmitPolicy
    kind: FixedKind | None = None
    lateness: int = 0
    ttl: int | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        delta = DeltaTable.of(state, self._pane)
        if self.ttl is not None:
            delta = delta.keep(tick.now - pl.col(SEEN_AT) < self.ttl)
        emissions: list[pl.DataFrame | None] = []
        lasting: pl.Series | None = None
        if rows is not None and rows.height:
            is_in_order = _is_in_order(rows)
            # A row of a sliding window comes once for each of its windows: earliest window first.
            rows = self._numbered(rows if is_in_order else rows.sort(SEQ, SLICE))
            last = self._last(rows)
            held, delta = delta.take(rows.select(self._pane)[last])
            running = self._running(held, rows, last)
            emits = running.select(self._emits(rows, tick).alias("_emits"))["_emits"]
            emissions.append(self._row_emissions(running if emits.all() else running.filter(emits), tick))
            delta = delta.put(self._absorbed(running.with_columns(emits), last, held, tick))
            if self.emit_policy.every_row and is_in_order:
                lasting = last
        delta, early = self._interval_emissions(delta, tick)
        delta, closed = self._close(delta, tick)
        return StepResult(self._let_go(delta, tick).tables(), stack([*emissions, early, closed]), lasting=lasting)

    @property
    def _pane(self) -> tuple[str, ...]:
        return (*self.layout.keys, SLICE)

    def _by(self, rows: pl.DataFrame) -> tuple[str, ...]:
        """What tells the panes of a batch apart: their number, where rows have one."""
        return (PANE,) if PANE in rows.columns else self._pane

    def _numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with their number in the batch, and that of their pane where it helps."""
        numbers = None if PANE in rows.columns else pane_numbers(rows, self._pane)
        return (rows if numbers is None else rows.with_columns(numbers)).with_row_index(_ROW)

    def _last(self, rows: pl.DataFrame) -> pl.Series:
        """The last row of each pane, in order."""
        if PANE in rows.columns:
            return last_rows(rows[PANE])
        return rows.select(_ROW, *self._pane).unique(self._pane, keep="last")[_ROW].sort()

    def _end(self) -> pl.Expr:
        return pl.lit(FOREVER, pl.Int64) if self.kind is None else self.kind.end_of(pl.col(SLICE))

    def _start(self) -> pl.Expr:
        return pl.lit(NEVER, pl.Int64) if self.kind is None else self.kind.start_of(pl.col(SLICE))

    def _running(self, panes: pl.DataFrame | None, rows: pl.DataFrame, last: pl.Series) -> pl.DataFrame:
        """Each row with its pane's whole state up to it: what was held, merged with the batch so far."""
        rows, by = rows.with_columns(pl.col(COUNT).cast(pl.Int32).alias(_OWN)), self._by(rows)
        unheard = {REVISION: pl.lit(0, pl.Int32), _HELD: pl.lit(0, pl.Int64)}
        if panes is None:
            return rows.with_columns(**unheard)
        if by != self._pane:
            panes = join_on(panes, rows.select(*self._pane, *by)[last], self._pane, "inner")
        if self._adds_up(panes, rows):
            return self._added_up(panes, rows, unheard)
        seeds = join_on(rows.select(_ROW, *by), panes, by, "inner")
        books = seeds.select(_ROW, REVISION, pl.col(COUNT).alias(_HELD))
        parts = [_ROW, COUNT, *self.layout.parts]
        both = stack([seeds.select(parts), rows.select(parts)])
        assert both is not None
        merged = Layout((), self.layout.merges, self.layout.parts).merge(both, _ROW)
        outer = rows.drop(COUNT, *self.layout.parts).join(merged, on=_ROW, how="left").join(books, on=_ROW, how="left")
        return _filled(outer, unheard).sort(_ROW)

    def _adds_up(self, panes: pl.DataFrame, rows: pl.DataFrame) -> bool:
        """Whether all parts are numbers of which two totals are put together by themselves. Decimals grow when they are added."""
        runs, parts = self.layout.runs, self.layout.parts
        numbers = (rows.schema[part] == panes.schema[part] and rows.schema[part].is_numeric() for part in parts)
        return len(runs) == len(parts) and all(numbers) and not any(rows.schema[part].is_decimal() for part in parts)

    def _added_up(self, panes: pl.DataFrame, rows: pl.DataFrame, unheard: Mapping[str, pl.Expr]) -> pl.DataFrame:
        names = {part: f"{part}{_HELD}" for part in self.layout.parts}
        runs = dict(zip(names, self.layout.runs, strict=True))
        before = (pl.col(part).alias(name) for part, name in names.items())
        held = panes.select(*self._by(rows), pl.col(COUNT).alias(_HELD), REVISION, *before)
        if PANE in rows.columns:
            every = by_number(held, how_many(rows[PANE]))
            # Numbers all through are put together far faster. Where a row has NULL for a total, nothing may stand for none.
            none = {names[part]: none_yet(rows.schema[part], run) for part, run in runs.items() if not rows[part].null_count()}
            both = rows.hstack(_filled(every, {**unheard, **none})[rows[PANE]])
        else:
            both = _filled(join_on(rows, held, self._pane, "left", maintain_order="left"), unheard)
        totals = {part: put_together(both[names[part]], both[part], run) for part, run in runs.items()}
        return both.with_columns(pl.col(COUNT) + pl.col(_HELD), **totals).drop(names.values())

    def _emits(self, rows: pl.DataFrame, tick: BatchTime) -> pl.Expr:
        """Whether a row makes its pane emit at once."""
        emit_policy, is_last = self.emit_policy, pl.col(_ROW) == pl.col(_ROW).max().over(self._by(rows))
        if emit_policy.every_row:
            return pl.col(_OWN) > 0
        if emit_policy.once:
            return (pl.col(_HELD) == 0) & (pl.col(_OWN) == 1)
        emits = is_last if emit_policy.per_batch else pl.col(_OWN) < 0
        if emit_policy.every_records is not None:
            emits = emits | (pl.col(COUNT) % emit_policy.every_records == 0)
        if emit_policy.when:
            emits = emits | pl.col(WHEN).fill_null(False)
        # A window that had closed is corrected once in a batch.
        return emits if self.kind is None else pl.when(self._end() <= tick.watermark_before).then(is_last).otherwise(emits)

    def _row_emissions(self, emitted: pl.DataFrame, tick: BatchTime) -> pl.DataFrame | None:
        """Numbered on from what the pane had emitted before."""
        if not emitted.height:
            return None
        emit_policy = self.emit_policy
        kind = pl.lit(CHANGE if emit_policy.every_row or emit_policy.per_batch or emit_policy.once else EARLY)
        is_late = self._end() <= tick.watermark_before
        if emitted.select(is_late.any()).item():
            kind = pl.when(is_late).then(pl.lit(LATE)).otherwise(kind)
        number = (
            pl.col(_OWN) if emit_policy.every_row else pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over(self._by(emitted), order_by=_ROW)
        )
        numbered = emitted.with_columns(
            (pl.col(REVISION) + number).cast(pl.Int32).alias(REVISION),
            kind.alias(EMISSION),
        )
        return self._shape(numbered)

    def _shape(self, emissions: pl.DataFrame) -> pl.DataFrame:
        place = (SEQ,) if SEQ in emissions.columns else ()
        return emissions.select(
            *self.layout.keys, self._start().alias(START), self._end().alias(END), COUNT, *self.layout.parts, EMISSION, REVISION, *place
        )

    def _absorbed(self, running: pl.DataFrame, last: pl.Series, held: pl.DataFrame | None, tick: BatchTime) -> pl.DataFrame:
        """The touched panes after the batch: each takes the state of its last row, of which ``last`` has the numbers."""
        now, has_emitted = pl.lit(tick.now, pl.Int64), pl.col(_EMITTED) > 0
        emitted = pl.col(_OWN) if self.emit_policy.every_row else pl.col("_emits").sum().over(self._by(running))
        after = running.with_columns(emitted.alias(_EMITTED))[last]
        if held is None:
            after = after.with_columns(now.alias(EMITTED_AT))
        else:
            after = join_on(after, held.select(*self._pane, EMITTED_AT), self._pane, "left", maintain_order="left")
        return after.select(
            *self._pane,
            COUNT,
            *self.layout.parts,
            (pl.col(REVISION) + pl.col(_EMITTED)).cast(pl.Int32).alias(REVISION),
            pl.when(has_emitted).then(now).otherwise(pl.coalesce(EMITTED_AT, now)).alias(EMITTED_AT),
            # What came after the last emission has not been shown yet.
            (~pl.col("_emits")).alias(DIRTY),
            now.alias(SEEN_AT),
        )

    def _interval_emissions(self, delta: DeltaTable, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Panes that changed and have been silent for the interval of TRIGGER EVERY, and are still open."""
        if self.emit_policy.interval is None or (self.kind is None and tick.watermark_after >= FOREVER):
            return delta, None
        claim = pl.col(DIRTY) & (tick.now - pl.col(EMITTED_AT) >= self.emit_policy.interval)
        due = delta.where(claim if self.kind is None else claim & (self._end() > tick.watermark_after))
        if due is None:
            return delta, None
        _, delta = delta.take(due.select(self._pane))
        emitted = due.with_columns(pl.col(REVISION) + 1, pl.lit(tick.now, pl.Int64).alias(EMITTED_AT), pl.lit(False).alias(DIRTY))
        emissions = self._shape(emitted.with_columns(pl.lit(EARLY).alias(EMISSION)))
        return delta.put(emitted), emissions.sort(START, *self.layout.keys)

    def _close(self, delta: DeltaTable, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Panes whose end the watermark passed in this batch."""
        if not self.emit_policy.on_close or tick.watermark_after <= tick.watermark_before:
            return delta, None
        if self.kind is None:
            due = delta.everything() if tick.watermark_after >= FOREVER else None
        else:
            due = delta.where((self._end() > tick.watermark_before) & (self._end() <= tick.watermark_after))
        if due is None:
            return delta, None
        emitted = due.with_columns(pl.col(REVISION) + 1)
        if self.lateness:
            # The final emission counts as a revision for the corrections that may follow.
            _, delta = delta.take(due.select(self._pane))
            delta = delta.put(emitted)
        return delta, self._shape(emitted.with_columns(pl.lit(FINAL).alias(EMISSION))).sort(END, *self.layout.keys)

    def _let_go(self, delta: DeltaTable, tick: BatchTime) -> DeltaTable:
        if self.kind is None:
            return DeltaTable(self._pane) if tick.watermark_after >= FOREVER else delta
        return delta.keep(self._end() > tick.retention_bound(self.lateness))

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        panes = DeltaTable.of(state, self._pane).everything()
        return None if panes is None else panes.select(*self.layout.keys, self._start().alias(START), self._end().alias(END), COUNT)


def _is_in_order(rows: pl.DataFrame) -> bool:
    """Whether each row comes after the one before it: most batches come so, and to sort them takes as long as the rest."""
    places = rows[SEQ]
    return bool((places.slice(1) > places.head(-1)).all())


def _filled(frame: pl.DataFrame, values: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """With values for NULLs. What has none is not copied."""
    return frame.with_columns(pl.coalesce(name, value).alias(name) for name, value in values.items() if frame[name].null_count())
