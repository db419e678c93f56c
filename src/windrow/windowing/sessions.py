"""Session windows: intervals of one group that grow and merge, whatever order their rows arrive in.

Partials come as small intervals (first and last event time within one gap-wide slice). Rows whose own session would have
closed already come one by one with a ``_late_id``: whether they are late depends on the sessions that are still held.
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
    FIRST,
    LAST,
    LATE,
    REVISION,
    SEQ,
    START,
    Layout,
    join_on,
)
from windrow.windowing.runs import Run, RunRules
from windrow.windowing.shelf import Shelf
from windrow.windowing.speech import AT_CLOSE, DIRTY, EMITTED_AT, WHEN, Speech
from windrow.windowing.step import StepResult, Tables, Tick, stack

LATE_ID = "_late_id"
_CLUSTER = "_cluster"
_HELD = "_is_held"
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
    speech: Speech = AT_CLOSE
    include_late: bool = False
    # A limit cuts sessions as their rows come, not as they stand in time when all of a batch are there.
    one_by_one: bool = False

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        shelf = Shelf.of(state, self.layout.keys)
        spoken: pl.DataFrame | None = None
        rejected: tuple[int, ...] = ()
        if rows is not None and rows.height:
            rows = rows if LATE_ID in rows.columns else rows.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID))
            shelf, spoken, rejected = self._row_by_row(shelf, rows, tick) if self._takes_single_rows else self._together(shelf, rows, tick)
        shelf, early = self._interval_emissions(shelf, tick)
        shelf, closed = self._close(shelf, tick)
        shelf = shelf.keep(self._end() + self.lateness > tick.reached)
        return StepResult(shelf.tables(), stack([spoken, early, closed]), rejected)

    def _together(self, shelf: Shelf, rows: pl.DataFrame, tick: Tick) -> tuple[Shelf, pl.DataFrame | None, tuple[int, ...]]:
        """The rows of a batch as one: where they stand among each other in time matters, in what order they came does not."""
        held, shelf = shelf.take(rows.select(self.layout.keys).unique())
        clusters, rejected = self._reject(held, rows, tick)
        if not clusters.height:
            return shelf, None, rejected
        speaks = pl.col("_touched") if self.speech.per_batch else pl.col("_touched") & (self._end() <= tick.judged_by)
        shelf, said = self._say(shelf, self._merge(clusters), speaks, CHANGE, tick)
        return shelf, said, rejected

    def _say(self, shelf: Shelf, sessions: pl.DataFrame, speaks: pl.Expr, kind: str, tick: Tick) -> tuple[Shelf, pl.DataFrame | None]:
        """Put sessions back, after those have spoken that should. One that had closed before this batch speaks as a correction."""
        speaks_now = sessions.select(speaks.alias("_speaks"))["_speaks"]
        after = sessions.with_columns((pl.col(REVISION) + speaks_now.cast(pl.Int32)).cast(pl.Int32).alias(REVISION))
        if self._books:
            spoken_at = pl.when(speaks_now).then(pl.lit(tick.now, pl.Int64)).otherwise(pl.col(EMITTED_AT))
            after = after.with_columns(spoken_at.alias(EMITTED_AT), pl.col(DIRTY) & ~speaks_now)
        is_late = pl.when(self._end() <= tick.judged_by).then(pl.lit(LATE)).otherwise(pl.lit(kind))
        said = self._shape(after.filter(speaks_now).with_columns(is_late.alias(EMISSION)))
        said = said.sort(END, START, *self.layout.keys, nulls_last=False)
        return shelf.put(after.select(*self.layout.keys, *self._columns)), said if said.height else None

    @property
    def _takes_single_rows(self) -> bool:
        return self.speech.by_row or self.one_by_one

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*self._own_columns, REVISION, *self._books)

    @property
    def _own_columns(self) -> tuple[str, ...]:
        return (FIRST, LAST, COUNT, *self.layout.parts)

    @property
    def _books(self) -> tuple[str, ...]:
        """What is remembered of a session where single rows decide whether it speaks."""
        return (EMITTED_AT, DIRTY) if self.speech.is_early or self.one_by_one else ()

    def _interval_emissions(self, shelf: Shelf, tick: Tick) -> tuple[Shelf, pl.DataFrame | None]:
        """Sessions that changed and have been silent for the interval of TRIGGER EVERY, and are still open."""
        if self.speech.interval is None:
            return shelf, None
        claim = pl.col(DIRTY) & (tick.now - pl.col(EMITTED_AT) >= self.speech.interval) & (self._end() > tick.reached)
        due = shelf.where(claim)
        if due is None:
            return shelf, None
        held, shelf = shelf.take(due.select(self.layout.keys).unique())
        assert held is not None
        return self._say(shelf, held, claim, EARLY, tick)

    def _row_by_row(self, shelf: Shelf, rows: pl.DataFrame, tick: Tick) -> tuple[Shelf, pl.DataFrame | None, tuple[int, ...]]:
        """EMIT CHANGES: each row shows its session as it stood after it, so rows are taken one after the other."""
        index = pl.int_range(pl.len(), dtype=pl.Int64)
        rows = rows.sort(SEQ)
        rows = rows.with_columns(((index.over(self.layout.keys) if self.layout.keys else index) // ROWS_AT_ONCE).alias(_BLOCK))
        spoken: list[pl.DataFrame | None] = []
        rejected: list[int] = []
        for block in rows.partition_by(_BLOCK, maintain_order=True):
            shelf, said, late = self._take_block(shelf, block, tick)
            spoken.append(said)
            rejected.extend(late)
        every = stack(spoken)
        said_by_rows = None if every is None else every.sort(SEQ)
        shelf, corrections = self._corrections(shelf, rows, tick)
        return shelf, stack([said_by_rows, corrections]), tuple(rejected)

    def _corrections(self, shelf: Shelf, rows: pl.DataFrame, tick: Tick) -> tuple[Shelf, pl.DataFrame | None]:
        """With triggers, a session that had closed is corrected once in a batch."""
        if not self._books or self.speech.every_row:
            return shelf, None
        held, shelf = shelf.take(rows.select(self.layout.keys).unique())
        if held is None:
            return shelf, None
        return self._say(shelf, held, pl.col(DIRTY) & (self._end() <= tick.judged_by), EARLY, tick)

    def _take_block(self, shelf: Shelf, rows: pl.DataFrame, tick: Tick) -> tuple[Shelf, pl.DataFrame | None, list[int]]:
        """Find out in Python who joins whom, then merge all the partials of all the sessions that rows show at once."""
        groups = rows.select(self.layout.keys).unique(maintain_order=True)
        held, shelf = shelf.take(groups)
        own = rows.select(*self.layout.keys, *self._own_columns, SEQ, LATE_ID, self._when().alias(WHEN))
        partials = stack([held, own])
        assert partials is not None
        if self.layout.keys:
            partials = join_on(partials, groups.with_row_index(_GROUP), self.layout.keys, "left", maintain_order="left")
        else:
            partials = partials.with_columns(pl.lit(0).alias(_GROUP))
        rules = RunRules(self.gap, self.max_length, self.lateness, self.include_late, tick.rejects_by)
        known = 0 if held is None else held.height
        self._hold(rules, partials.head(known))
        shown: list[tuple[int, Run]] = []
        rejected: list[int] = []
        for number, (group, at, late_id, when) in enumerate(partials.select(_GROUP, FIRST, LATE_ID, WHEN).slice(known).iter_rows(), known):
            run = rules.take(group, at, number, tick.now)
            if run is not None and self._makes_speak(run, when, rules.end(run) <= tick.judged_by):
                shown.append((number, rules.speak(group, run, tick.now)))
            elif run is None and late_id is not None:
                rejected.append(late_id)
        said = self._of_runs(partials, [run for _, run in shown]).with_columns(partials[SEQ][[number for number, _ in shown]])
        left = self._of_runs(partials, rules.left())
        return shelf.put(left), self._spoken(said, tick), rejected

    def _when(self) -> pl.Expr:
        return pl.col(WHEN).fill_null(False) if self.speech.when else pl.lit(False)

    def _hold(self, rules: RunRules, held: pl.DataFrame) -> None:
        books = self._books or (pl.lit(0).alias(EMITTED_AT), pl.lit(True).alias(DIRTY))
        if not held.height:
            return
        wanted = held.select(_GROUP, FIRST, LAST, REVISION, COUNT, *books)
        for number, (group, first, last, revision, count, emitted_at, is_dirty) in enumerate(wanted.iter_rows()):
            rules.hold(group, Run(first, last, revision, (number,), count, count, emitted_at, is_dirty))

    def _makes_speak(self, run: Run, when: bool, is_closed: bool) -> bool:
        """Whether a row makes the session that it joined speak at once."""
        if self.speech.every_row:
            return True
        if is_closed:
            return False
        each = self.speech.every_records
        # Sessions that merge may jump over the number: it counts as reached when none of them had.
        return when or (each is not None and run.rows // each > run.largest // each)

    def _of_runs(self, partials: pl.DataFrame, runs: list[Run]) -> pl.DataFrame:
        """One row per run, with its partials merged."""
        keys = partials[[run.members[0] for run in runs]].select(self.layout.keys)
        types = {FIRST: pl.Int64, LAST: pl.Int64, REVISION: pl.Int32, EMITTED_AT: pl.Int64, DIRTY: pl.Boolean}
        known = [(run.first, run.last, run.revision, run.emitted_at, run.is_dirty) for run in runs]
        books = pl.DataFrame(known, types, orient="row")
        merged = self.layout.merge_members(partials, [list(run.members) for run in runs])
        return books.with_columns(*keys.get_columns(), *merged.get_columns()).select(*self.layout.keys, *self._columns)

    def _spoken(self, said: pl.DataFrame, tick: Tick) -> pl.DataFrame | None:
        if not said.height:
            return None
        kind = CHANGE if self.speech.every_row else EARLY
        is_late = pl.when(self._end() <= tick.judged_by).then(pl.lit(LATE)).otherwise(pl.lit(kind))
        return self._shape(said.with_columns(is_late.alias(EMISSION)), SEQ)

    def _cluster(self, held: pl.DataFrame | None, rows: pl.DataFrame, tick: Tick) -> pl.DataFrame:
        """Number the runs of intervals of one group that lie at most a gap apart."""
        fresh = rows.select(
            *self.layout.keys,
            FIRST,
            LAST,
            COUNT,
            *self.layout.parts,
            pl.col(LATE_ID).cast(pl.Int64),
            pl.lit(0, pl.Int32).alias(REVISION),
            pl.lit(False).alias(_HELD),
        )
        if self._books:
            fresh = fresh.with_columns(pl.lit(tick.now, pl.Int64).alias(EMITTED_AT), pl.lit(True).alias(DIRTY))
        known = None if held is None else held.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID), pl.lit(True).alias(_HELD))
        every = stack([known, fresh])
        assert every is not None
        every = every.sort(*self.layout.keys, FIRST, LAST, nulls_last=False)
        return self._split_long(every.with_columns(self._cluster_numbers(every)))

    def _cluster_numbers(self, every: pl.DataFrame) -> pl.Series:
        """Rows are sorted by group and start: a new run begins where the group changes or the gap is exceeded.

        How far a group's rows have reached is one running maximum over all groups, of ranks that are higher in every later
        group: with many small groups that is far cheaper than a maximum for each.
        """
        changes = [pl.col(k).ne_missing(pl.col(k).shift(1)) for k in self.layout.keys]
        is_new = pl.any_horizontal(changes) if changes else pl.lit(False)
        marked = every.select(FIRST, LAST, is_new.alias("_new"), (pl.col(LAST).rank("ordinal").cast(pl.Int64) - 1).alias("_rank"))
        base = pl.col("_new").cast(pl.Int64).cum_sum() * every.height
        reached = marked.select(((base + pl.col("_rank")).cum_max() - base).alias("_rank"))["_rank"]
        reach = every[LAST].sort().gather(reached).shift(1).alias("_reach")
        is_apart = pl.col("_reach").is_null() | (pl.col(FIRST) > pl.col("_reach") + self.gap)
        return marked.with_columns(reach).select((pl.col("_new") | is_apart).cast(pl.Int64).cum_sum().alias(_CLUSTER))[_CLUSTER]

    def _split_long(self, clusters: pl.DataFrame) -> pl.DataFrame:
        """MAX: a session ends at its start plus the limit, and the next row starts a new one."""
        if self.max_length is None:
            return clusters
        numbers, current, number, opened = [], None, -1, 0
        for cluster, first, last in clusters.select(_CLUSTER, FIRST, LAST).iter_rows():
            # What is held cannot be cut any more: it joins as a whole or not at all.
            if cluster != current or last >= opened + self.max_length:
                current, number, opened = cluster, number + 1, first
            numbers.append(number)
        return clusters.with_columns(pl.Series(_CLUSTER, numbers, pl.Int64))

    def _reject(self, held: pl.DataFrame | None, rows: pl.DataFrame, tick: Tick) -> tuple[pl.DataFrame, tuple[int, ...]]:
        """Runs without the rows of those that had closed for good before this batch, and that no kept session belongs to.

        A limit may put a row that is in time into the run of one that is not: once that is gone, it begins a run of its own.
        """
        is_gone = (self._cluster_end() + self.lateness <= tick.rejects_by) & ~pl.col(_HELD).any().over(_CLUSTER)
        own_length = self.gap if self.max_length is None else min(self.gap, self.max_length)
        is_over = pl.col(LATE_ID).is_not_null() & (pl.col(FIRST) + own_length + self.lateness <= tick.rejects_by)
        late: list[pl.DataFrame] = []
        while True:
            judged = self._cluster(held, rows, tick).with_columns(is_gone.alias("_gone"))
            kept, gone = judged.filter(~pl.col("_gone")).drop("_gone"), judged.filter(pl.col("_gone")).drop("_gone")
            by_itself = gone.filter(is_over)
            if by_itself.height in (0, gone.height):
                break
            late.append(by_itself)
            rows = rows.filter(pl.col(LATE_ID).is_null() | ~pl.col(LATE_ID).is_in(by_itself[LATE_ID].to_list()))
        gone = pl.concat([*late, gone])
        if gone.height and self.include_late:
            kept, gone = self._include(kept, gone, tick)
        return kept, tuple(gone[LATE_ID].drop_nulls().to_list())

    def _include(self, kept: pl.DataFrame, gone: pl.DataFrame, tick: Tick) -> tuple[pl.DataFrame, pl.DataFrame]:
        """INCLUDE_IN_NEXT: give a late row the bounds of its group's earliest open session, if there is one."""
        open_now = kept.filter(self._cluster_end() > tick.rejects_by)
        earliest = open_now.sort(FIRST).group_by(list(self.layout.keys) or pl.lit(0), maintain_order=True).first()
        earliest = earliest.select(*self.layout.keys, pl.col(_CLUSTER).alias("_into"), pl.col(FIRST).alias("_at"))
        if self.layout.keys:
            placed = gone.join(earliest, on=list(self.layout.keys), how="left", nulls_equal=True)
        else:
            placed = gone.join(earliest, how="cross") if earliest.height else gone.with_columns(pl.lit(None, pl.Int64).alias("_into"))
        taken = placed.filter(pl.col("_into").is_not_null())
        left = placed.filter(pl.col("_into").is_null())
        if taken.height:
            taken = taken.with_columns(pl.col("_into").alias(_CLUSTER), pl.col("_at").alias(FIRST), pl.col("_at").alias(LAST))
            kept = pl.concat([kept, taken.select(kept.columns)])
        return kept, left

    def _cluster_end(self) -> pl.Expr:
        end = pl.col(LAST).max().over(_CLUSTER) + self.gap
        if self.max_length is None:
            return end
        return pl.min_horizontal(end, pl.col(FIRST).min().over(_CLUSTER) + self.max_length)

    def _merge(self, clusters: pl.DataFrame) -> pl.DataFrame:
        """One row per run, with a mark at those that rows of this batch touched."""
        books = clusters.group_by(_CLUSTER).agg(
            *(pl.col(k).first() for k in self.layout.keys),
            pl.col(FIRST).min(),
            pl.col(LAST).max(),
            pl.col(REVISION).max(),
            (~pl.col(_HELD)).any().alias("_touched"),
            *((pl.col(EMITTED_AT).min(), pl.col(DIRTY).any()) if self._books else ()),
        )
        values = Layout((), self.layout.merges, self.layout.parts).merge(clusters, _CLUSTER)
        return books.join(values, on=_CLUSTER)

    def _end(self) -> pl.Expr:
        end = pl.col(LAST) + self.gap
        return end if self.max_length is None else pl.min_horizontal(end, pl.col(FIRST) + self.max_length)

    def _shape(self, said: pl.DataFrame, *more: str) -> pl.DataFrame:
        return said.with_columns(self._end().alias(END)).select(
            *self.layout.keys, pl.col(FIRST).alias(START), END, COUNT, *self.layout.parts, EMISSION, REVISION, *more
        )

    def _close(self, shelf: Shelf, tick: Tick) -> tuple[Shelf, pl.DataFrame | None]:
        if not (self.speech.on_close or self._books) or tick.reached <= tick.judged_by:
            return shelf, None
        is_closing = (self._end() > tick.judged_by) & (self._end() <= tick.reached)
        due = shelf.where(is_closing)
        if due is None:
            return shelf, None
        numbered = (pl.col(REVISION) + int(self.speech.on_close)).cast(pl.Int32)
        if self.lateness:
            # The final emission counts as a revision for the corrections that may follow. What was not said by now is said no more.
            changed = {REVISION: numbered, **({DIRTY: pl.lit(False)} if self._books else {})}
            held, shelf = shelf.take(due.select(self.layout.keys).unique())
            assert held is not None
            after = (pl.when(is_closing).then(new).otherwise(pl.col(name)).alias(name) for name, new in changed.items())
            shelf = shelf.put(held.with_columns(after))
        if not self.speech.on_close:
            return shelf, None
        said = self._shape(due.with_columns(pl.lit(FINAL).alias(EMISSION), numbered))
        return shelf, said.sort(END, START, *self.layout.keys, nulls_last=False)

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = Shelf.of(state, self.layout.keys).everything()
        return None if held is None else held.select(*self.layout.keys, pl.col(FIRST).alias(START), self._end().alias(END), COUNT)
