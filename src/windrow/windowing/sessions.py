"""Session windows: intervals of one group that grow and merge, whatever order their rows arrive in.

Partials come as small intervals (first and last event time within one gap-wide slice). Rows whose own session would have
closed already come one by one with a ``_late_id``: whether they are late depends on the sessions that are still held.

What of them is kept, and how a limit cuts them, is in ``pieces``.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.chains import CHAIN, chain_numbers
from windrow.windowing.columns import (
    CHANGE,
    COUNT,
    EARLY,
    EMISSION,
    END,
    FINAL,
    FIRST,
    LAST,
    LATE,
    REVISION,
    SEQ,
    START,
    Layout,
    join_on,
)
from windrow.windowing.delta_table import DeltaTable
from windrow.windowing.emit_policy import AT_CLOSE, DIRTY, EMITTED_AT, WHEN, EmitPolicy
from windrow.windowing.lateness import is_over
from windrow.windowing.pieces import HELD, LEADS, OPENED, REACHED, Pieces
from windrow.windowing.session_intervals import Bounds, SessionInterval, SessionRules, Span
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

LATE_ID = "_late_id"
_GROUP = "_group"
_BLOCK = "_block"

# EMIT CHANGES shows a session after each of its rows: so many rows of a group are taken at a time, since every one of them is
# merged again for each that follows it.
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class SessionStep:
    """``include_late`` counts a row that no session takes into the group's earliest open session."""

    layout: Layout
    gap: int
    max_length: int | None = None
    lateness: int = 0
    emit_policy: EmitPolicy = AT_CLOSE
    include_late: bool = False

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        delta = DeltaTable.of(state, self.layout.keys)
        emissions: pl.DataFrame | None = None
        rejected: tuple[int, ...] = ()
        if rows is not None and rows.height:
            rows = rows if LATE_ID in rows.columns else rows.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID))
            delta, emissions, rejected = (
                self._row_by_row(delta, rows, tick) if self.emit_policy.by_row else self._by_batch(delta, rows, tick)
            )
        delta, early = self._interval_emissions(delta, tick)
        delta, closed = self._close(delta, tick)
        delta = delta.keep(~is_over(self._pieces.held_end(), self.lateness, tick.watermark_after))
        return StepResult(delta.tables(), stack([emissions, early, closed]), rejected)

    def _by_batch(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None, tuple[int, ...]]:
        """The rows of a batch as one: where they stand among each other in time matters, in what order they came does not."""
        held, delta = delta.take(rows.select(self.layout.keys).unique())
        clusters, rejected = self._reject(held, rows, tick)
        if not clusters.height:
            return delta, None, rejected
        emits = pl.col("_touched") if self.emit_policy.per_batch else pl.col("_touched") & (self._pieces.end() <= tick.watermark_before)
        sessions = self._merge(clusters)
        delta, emitted = self._emit(delta, sessions, self._pieces.of(clusters, sessions), emits, CHANGE, tick)
        return delta, emitted, rejected

    def _emit(
        self, delta: DeltaTable, sessions: pl.DataFrame, pieces: pl.DataFrame | None, emits: pl.Expr, kind: str, tick: BatchTime
    ) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Put sessions back, after those have emitted that should. One that had closed before this batch emits a correction."""
        emits_now = sessions.select(emits.alias("_emits"))["_emits"]
        after = sessions.with_columns((pl.col(REVISION) + emits_now.cast(pl.Int32)).cast(pl.Int32).alias(REVISION))
        if self._books:
            emitted_at = pl.when(emits_now).then(pl.lit(tick.now, pl.Int64)).otherwise(pl.col(EMITTED_AT))
            after = after.with_columns(emitted_at.alias(EMITTED_AT), pl.col(DIRTY) & ~emits_now)
        is_late = pl.when(self._pieces.end() <= tick.watermark_before).then(pl.lit(LATE)).otherwise(pl.lit(kind))
        emitted = self._shape(after.filter(emits_now).with_columns(is_late.alias(EMISSION)))
        emitted = emitted.sort(END, START, *self.layout.keys, nulls_last=False)
        return delta.put(self._pieces.kept(after, pieces, tick)), emitted if emitted.height else None

    @property
    def _pieces(self) -> Pieces:
        return Pieces(self.layout, Bounds(self.gap, self.max_length), self.lateness, self._books)

    @property
    def _books(self) -> tuple[str, ...]:
        """What is remembered of a session where single rows decide whether it emits."""
        return (EMITTED_AT, DIRTY) if self.emit_policy.is_early else ()

    def _interval_emissions(self, delta: DeltaTable, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """Sessions that changed and have been silent for the interval of TRIGGER EVERY, and are still open."""
        if self.emit_policy.interval is None:
            return delta, None
        is_due = pl.col(DIRTY) & (tick.now - pl.col(EMITTED_AT) >= self.emit_policy.interval)
        due = delta.where(is_due & (self._pieces.held_end() > tick.watermark_after))
        if due is None:
            return delta, None
        held, delta = delta.take(due.select(self.layout.keys).unique())
        assert held is not None
        return self._emit(delta, self._pieces.whole(held), held, is_due & (self._pieces.end() > tick.watermark_after), EARLY, tick)

    def _row_by_row(
        self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime
    ) -> tuple[DeltaTable, pl.DataFrame | None, tuple[int, ...]]:
        """EMIT CHANGES: each row shows its session as it stood after it, so rows are taken one after the other."""
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        rows = rows.sort(SEQ)
        rows = rows.with_columns(((index.over(self.layout.keys) if self.layout.keys else index) // ROWS_AT_ONCE).alias(_BLOCK))
        emissions: list[pl.DataFrame | None] = []
        rejected: list[int] = []
        for block in rows.partition_by(_BLOCK, maintain_order=True):
            delta, emitted, late = self._take_block(delta, block, tick)
            emissions.append(emitted)
            rejected.extend(late)
        every = stack(emissions)
        emitted_by_rows = None if every is None else every.sort(SEQ)
        delta, corrections = self._corrections(delta, rows, tick)
        return delta, stack([emitted_by_rows, corrections]), tuple(rejected)

    def _corrections(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        """With triggers, a session that had closed is corrected once in a batch."""
        if not self._books or self.emit_policy.every_row:
            return delta, None
        held, delta = delta.take(rows.select(self.layout.keys).unique())
        if held is None:
            return delta, None
        return self._emit(delta, self._pieces.whole(held), held, pl.col(DIRTY) & (self._pieces.end() <= tick.watermark_before), EARLY, tick)

    def _take_block(self, delta: DeltaTable, rows: pl.DataFrame, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None, list[int]]:
        """Find out in Python who joins whom, then merge all the partials of all the sessions that rows show at once."""
        groups = rows.select(self.layout.keys).unique(maintain_order=True)
        held, delta = delta.take(groups)
        own = rows.select(*self.layout.keys, *self._pieces.columns, SEQ, LATE_ID, self._when().alias(WHEN))
        sessions = None if held is None else self._pieces.whole(held)
        pieces = held if self._pieces.is_limited else None
        partials = stack([sessions, pieces, own])
        assert partials is not None
        if self.layout.keys:
            partials = join_on(partials, groups.with_row_index(_GROUP), self.layout.keys, "left", maintain_order="left")
        else:
            partials = partials.with_columns(pl.lit(0).alias(_GROUP))
        rules = SessionRules(self._pieces.bounds, self.lateness, self.include_late, tick.watermark_before, tick.rejects_by)
        known = 0 if sessions is None else sessions.height
        of_pieces = 0 if pieces is None else pieces.height
        self._hold(rules, partials.head(known), partials.slice(known, of_pieces))
        shown: list[tuple[int, SessionInterval]] = []
        rejected: list[int] = []
        fresh = partials.select(_GROUP, FIRST, LATE_ID, WHEN).slice(known + of_pieces)
        for number, (group, at, late_id, when) in enumerate(fresh.iter_rows(), known + of_pieces):
            run = rules.take(group, at, number, tick.now)
            if run is not None and self._makes_emit(run, when, rules.end(run) <= tick.watermark_before):
                shown.append((number, rules.emit(group, run, tick.now)))
            elif run is None and late_id is not None:
                rejected.append(late_id)
        emitted = self._of_runs(partials, [run for _, run in shown]).with_columns(partials[SEQ][[number for number, _ in shown]])
        left = self._pieces.of_runs(partials, rules, tick) if self._pieces.is_limited else self._of_runs(partials, rules.left())
        return delta.put(left), self._row_emissions(emitted, tick), rejected

    def _when(self) -> pl.Expr:
        return pl.col(WHEN).fill_null(False) if self.emit_policy.when else pl.lit(False)

    def _hold(self, rules: SessionRules, sessions: pl.DataFrame, pieces: pl.DataFrame) -> None:
        """Let the rules know what is held; partials are numbered from the first session to the last piece."""
        books = self._books or (pl.lit(0).alias(EMITTED_AT), pl.lit(True).alias(DIRTY))
        if not sessions.height:
            return
        own: dict[tuple[int, int], list[int]] = {}
        if pieces.height:
            where = pieces.select(_GROUP, OPENED, FIRST, LAST, COUNT)
            for number, (group, opened, *span) in enumerate(where.iter_rows(), sessions.height):
                own.setdefault((group, opened), []).append(number)
                rules.spans[number] = Span(*span)
        wanted = sessions.select(_GROUP, FIRST, LAST, REVISION, COUNT, *books)
        for number, (group, first, last, revision, count, emitted_at, is_dirty) in enumerate(wanted.iter_rows()):
            known = tuple(own.get((group, first), ()))
            rules.hold(group, SessionInterval(first, last, revision, (number,), count, count, emitted_at, is_dirty, known))

    def _makes_emit(self, run: SessionInterval, when: bool, is_closed: bool) -> bool:
        """Whether a row makes the session that it joined emit at once."""
        if self.emit_policy.every_row:
            return True
        if is_closed:
            return False
        each = self.emit_policy.every_records
        # Sessions that merge may jump over the number: it counts as reached when none of them had.
        return when or (each is not None and run.rows // each > run.largest // each)

    def _of_runs(self, partials: pl.DataFrame, runs: list[SessionInterval]) -> pl.DataFrame:
        """One row per run, with its partials merged."""
        keys = partials[[run.members[0] for run in runs]].select(self.layout.keys)
        types = {FIRST: pl.Int64, LAST: pl.Int64, REVISION: pl.Int32, EMITTED_AT: pl.Int64, DIRTY: pl.Boolean}
        known = [(run.first, run.last, run.revision, run.emitted_at, run.is_dirty) for run in runs]
        books = pl.DataFrame(known, types, orient="row")
        merged = self.layout.merge_members(partials, [list(run.members) for run in runs])
        return books.with_columns(*keys.get_columns(), *merged.get_columns()).select(
            *self.layout.keys, FIRST, LAST, COUNT, *self.layout.parts, REVISION, *self._books
        )

    def _row_emissions(self, emitted: pl.DataFrame, tick: BatchTime) -> pl.DataFrame | None:
        if not emitted.height:
            return None
        kind = CHANGE if self.emit_policy.every_row else EARLY
        is_late = pl.when(self._pieces.end() <= tick.watermark_before).then(pl.lit(LATE)).otherwise(pl.lit(kind))
        return self._shape(emitted.with_columns(is_late.alias(EMISSION)), SEQ)

    def _reject(self, held: pl.DataFrame | None, rows: pl.DataFrame, tick: BatchTime) -> tuple[pl.DataFrame, tuple[int, ...]]:
        """Held and new partials with the numbers of their runs, without the rows of those that had closed for good before this batch."""
        every = self._side_by_side(held, rows, tick)
        kept, gone = self._pieces.cut_anew(every, tick) if self._pieces.is_limited else self._cluster(every, tick)
        if gone.height and self.include_late:
            kept, gone = self._include(kept, gone, tick)
        return kept, tuple(gone[LATE_ID].drop_nulls().to_list())

    def _side_by_side(self, held: pl.DataFrame | None, rows: pl.DataFrame, tick: BatchTime) -> pl.DataFrame:
        fresh = rows.select(
            *self.layout.keys,
            *self._pieces.columns,
            pl.col(LATE_ID).cast(pl.Int64),
            pl.lit(0, pl.Int32).alias(REVISION),
            pl.lit(False).alias(HELD),
        )
        if self._books:
            fresh = fresh.with_columns(pl.lit(tick.now, pl.Int64).alias(EMITTED_AT), pl.lit(True).alias(DIRTY))
        known = None if held is None else held.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID), pl.lit(True).alias(HELD))
        every = stack([known, fresh])
        assert every is not None
        if self._pieces.is_limited and known is None:
            every = every.with_columns(pl.lit(None, pl.Int64).alias(OPENED), pl.lit(None, pl.Int64).alias(REACHED))
        return every

    def _cluster(self, every: pl.DataFrame, tick: BatchTime) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Runs of partials, and those that are over: nothing of them is held, and so each of their rows is too late."""
        every = every.sort(*self.layout.keys, FIRST, LAST, nulls_last=False)
        every = every.with_columns(chain_numbers(every, self.layout.keys, self.gap))
        is_gone = is_over(self._pieces.chain_end(), self.lateness, tick.rejects_by) & ~pl.col(HELD).any().over(CHAIN)
        judged = every.with_columns(is_gone.alias("_gone"))
        return judged.filter(~pl.col("_gone")).drop("_gone"), judged.filter(pl.col("_gone")).drop("_gone")

    def _include(self, kept: pl.DataFrame, gone: pl.DataFrame, tick: BatchTime) -> tuple[pl.DataFrame, pl.DataFrame]:
        """INCLUDE_IN_NEXT: give a late row the bounds of its group's earliest open session, if there is one."""
        open_now = kept.filter(self._pieces.chain_end() > tick.rejects_by)
        earliest = open_now.sort(FIRST).group_by(list(self.layout.keys) or pl.lit(0), maintain_order=True).first()
        earliest = earliest.select(*self.layout.keys, pl.col(CHAIN).alias("_into"), pl.col(FIRST).alias("_at"))
        if self.layout.keys:
            placed = gone.join(earliest, on=list(self.layout.keys), how="left", nulls_equal=True)
        else:
            placed = gone.join(earliest, how="cross") if earliest.height else gone.with_columns(pl.lit(None, pl.Int64).alias("_into"))
        taken = placed.filter(pl.col("_into").is_not_null())
        left = placed.filter(pl.col("_into").is_null())
        if taken.height:
            taken = taken.with_columns(pl.col("_into").alias(CHAIN), pl.col("_at").alias(FIRST), pl.col("_at").alias(LAST))
            kept = pl.concat([kept, taken.select(kept.columns)])
        return kept, left

    def _merge(self, clusters: pl.DataFrame) -> pl.DataFrame:
        """One row per run, with a mark at those that rows of this batch touched."""
        is_dirty = pl.col(DIRTY).any()
        if self._pieces.is_limited:
            # One that begins where none began has not been shown, though its rows may have been in another.
            is_dirty = is_dirty | ~pl.col(LEADS).filter(pl.col(FIRST) == pl.col(FIRST).min()).any()
        books = clusters.group_by(CHAIN).agg(
            *(pl.col(k).first() for k in self.layout.keys),
            pl.col(FIRST).min(),
            pl.col(LAST).max(),
            pl.col(REVISION).max(),
            (~pl.col(HELD)).any().alias("_touched"),
            *((pl.col(EMITTED_AT).min(), is_dirty) if self._books else ()),
        )
        values = Layout((), self.layout.merges, self.layout.parts).merge(clusters, CHAIN)
        return books.join(values, on=CHAIN)

    def _shape(self, emitted: pl.DataFrame, *more: str) -> pl.DataFrame:
        return emitted.with_columns(self._pieces.end().alias(END)).select(
            *self.layout.keys, pl.col(FIRST).alias(START), END, COUNT, *self.layout.parts, EMISSION, REVISION, *more
        )

    def _close(self, delta: DeltaTable, tick: BatchTime) -> tuple[DeltaTable, pl.DataFrame | None]:
        if not (self.emit_policy.on_close or self._books) or tick.watermark_after <= tick.watermark_before:
            return delta, None
        is_closing = (self._pieces.held_end() > tick.watermark_before) & (self._pieces.held_end() <= tick.watermark_after)
        due = delta.where(is_closing)
        if due is None:
            return delta, None
        numbered = (pl.col(REVISION) + int(self.emit_policy.on_close)).cast(pl.Int32)
        if self.lateness:
            # The final emission counts as a revision for the corrections that may follow. What was not emitted by now never is.
            changed = {REVISION: numbered, **({DIRTY: pl.lit(False)} if self._books else {})}
            if self._books and self.emit_policy.on_close:
                # A late row may open the session again, and EVERY counts from when it last emitted.
                changed[EMITTED_AT] = pl.lit(tick.now, pl.Int64)
            held, delta = delta.take(due.select(self.layout.keys).unique())
            assert held is not None
            after = (pl.when(is_closing).then(new).otherwise(pl.col(name)).alias(name) for name, new in changed.items())
            delta = delta.put(held.with_columns(after))
        if not self.emit_policy.on_close:
            return delta, None
        emitted = self._shape(self._pieces.whole(due).with_columns(pl.lit(FINAL).alias(EMISSION), numbered))
        return delta, emitted.sort(END, START, *self.layout.keys, nulls_last=False)

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = DeltaTable.of(state, self.layout.keys).everything()
        if held is None:
            return None
        return self._pieces.whole(held).select(*self.layout.keys, pl.col(FIRST).alias(START), self._pieces.end().alias(END), COUNT)
