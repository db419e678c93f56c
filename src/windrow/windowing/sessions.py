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
)
from windrow.windowing.step import StepResult, Tables, Tick, stack

SESSIONS = "sessions"
LATE_ID = "_late_id"
_CLUSTER = "_cluster"
_HELD = "_is_held"


@dataclass(frozen=True)
class SessionStep:
    """``include_late`` counts a row that no session takes into the group's earliest open session."""

    layout: Layout
    gap: int
    max_length: int | None = None
    lateness: int = 0
    every_row: bool = False
    on_close: bool = True
    include_late: bool = False

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        if rows is None or not rows.height:
            return self._one(state, None, tick)
        if not self.every_row:
            return self._one(state, rows, tick)
        return self._row_by_row(state, rows.sort(SEQ), tick)

    def _row_by_row(self, state: Tables, rows: pl.DataFrame, tick: Tick) -> StepResult:
        """EMIT CHANGES: each row shows its session as it stood after it, so rows are taken one after the other."""
        spoken: list[pl.DataFrame | None] = []
        rejected: list[int] = []
        still = Tick(tick.before, tick.before, tick.now)
        for index in range(rows.height):
            result = self._one(state, rows.slice(index, 1), still)
            state = result.state
            spoken.append(result.emissions)
            rejected.extend(result.rejected)
        result = self._one(state, None, tick)
        spoken.append(result.emissions)
        return StepResult(result.state, stack(spoken), (*rejected, *result.rejected))

    def _one(self, state: Tables, rows: pl.DataFrame | None, tick: Tick) -> StepResult:
        held = state.get(SESSIONS)
        rejected: tuple[int, ...] = ()
        spoken: list[pl.DataFrame | None] = []
        if rows is not None:
            clusters = self._cluster(held, rows)
            clusters, rejected = self._reject(clusters, tick)
            held, touched = self._merge(clusters)
            spoken.append(self._spoken_at_once(touched, tick))
            held = self._number(held, touched, tick)
        if held is not None:
            closed = self._close(held, tick)
            spoken.append(closed)
            held = self._let_go(held, tick)
        return StepResult({} if held is None or not held.height else {SESSIONS: held}, stack(spoken), rejected)

    def _cluster(self, held: pl.DataFrame | None, rows: pl.DataFrame) -> pl.DataFrame:
        """Number the runs of intervals of one group that lie at most a gap apart."""
        if LATE_ID not in rows.columns:
            rows = rows.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID))
        fresh = rows.select(
            *self.layout.keys, FIRST, LAST, COUNT, *self.layout.parts, pl.col(LATE_ID).cast(pl.Int64),
            pl.lit(0, pl.Int32).alias(REVISION), pl.lit(False).alias(_HELD),
        )
        known = None if held is None else held.with_columns(pl.lit(None, pl.Int64).alias(LATE_ID), pl.lit(True).alias(_HELD))
        every = stack([known, fresh])
        assert every is not None
        every = every.sort(*self.layout.keys, FIRST, LAST, nulls_last=False)
        return self._split_long(every.with_columns(self._cluster_numbers().alias(_CLUSTER)))

    def _cluster_numbers(self) -> pl.Expr:
        """Rows are sorted by group and start: a new run begins where the group changes or the gap is exceeded."""
        reach = pl.col(LAST).cum_max()
        if self.layout.keys:
            reach = reach.over(self.layout.keys)
            previous = reach.shift(1).over(self.layout.keys)
            fresh_group = pl.any_horizontal([pl.col(k).ne_missing(pl.col(k).shift(1)) for k in self.layout.keys])
        else:
            previous = reach.shift(1)
            fresh_group = pl.lit(False)
        apart = previous.is_null() | (pl.col(FIRST) > previous + self.gap)
        return (fresh_group | apart).cast(pl.Int64).cum_sum()

    def _split_long(self, clusters: pl.DataFrame) -> pl.DataFrame:
        """MAX: a session ends at its start plus the limit, and the next row starts a new one."""
        if self.max_length is None:
            return clusters
        numbers, current, number, opened = [], None, -1, 0
        for cluster, first in zip(clusters[_CLUSTER].to_list(), clusters[FIRST].to_list(), strict=True):
            if cluster != current or first >= opened + self.max_length:
                current, number, opened = cluster, number + 1, first
            numbers.append(number)
        return clusters.with_columns(pl.Series(_CLUSTER, numbers, pl.Int64))

    def _reject(self, clusters: pl.DataFrame, tick: Tick) -> tuple[pl.DataFrame, tuple[int, ...]]:
        """Rows in runs that had closed for good before this batch, and that no kept session belongs to."""
        end = self._cluster_end()
        is_gone = (end + self.lateness <= tick.judged_by) & ~pl.col(_HELD).any().over(_CLUSTER)
        judged = clusters.with_columns((is_gone & ~pl.col(_HELD)).alias("_gone"))
        gone = judged.filter(pl.col("_gone"))
        if not gone.height:
            return judged.drop("_gone"), ()
        kept = judged.filter(~pl.col("_gone"))
        if self.include_late:
            kept, gone = self._include(kept, gone, tick)
        return kept.drop("_gone"), tuple(gone[LATE_ID].drop_nulls().to_list())

    def _include(self, kept: pl.DataFrame, gone: pl.DataFrame, tick: Tick) -> tuple[pl.DataFrame, pl.DataFrame]:
        """INCLUDE_IN_NEXT: give a late row the bounds of its group's earliest open session, if there is one."""
        open_now = kept.filter(self._cluster_end() > tick.judged_by)
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

    def _merge(self, clusters: pl.DataFrame) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """One row per run; beside it those that rows of this batch touched."""
        if not clusters.height:
            return None, None
        merged = clusters.group_by(_CLUSTER, maintain_order=True).agg(
            *(pl.col(k).first() for k in self.layout.keys),
            pl.col(FIRST).min(),
            pl.col(LAST).max(),
            pl.col(COUNT).sum(),
            *self.layout.merges,
            pl.col(REVISION).max(),
            (~pl.col(_HELD)).any().alias("_touched"),
        )
        touched = merged.filter(pl.col("_touched")).drop(_CLUSTER, "_touched")
        return merged.drop("_touched"), touched if touched.height else None

    def _end(self) -> pl.Expr:
        end = pl.col(LAST) + self.gap
        return end if self.max_length is None else pl.min_horizontal(end, pl.col(FIRST) + self.max_length)

    def _speaks_at_once(self, tick: Tick) -> pl.Expr:
        is_late = self._end() <= tick.judged_by
        return pl.lit(True) if self.every_row else is_late

    def _spoken_at_once(self, touched: pl.DataFrame | None, tick: Tick) -> pl.DataFrame | None:
        if touched is None:
            return None
        said = touched.filter(self._speaks_at_once(tick))
        if not said.height:
            return None
        is_late = self._end() <= tick.judged_by
        said = said.with_columns(
            pl.when(is_late).then(pl.lit(LATE)).otherwise(pl.lit(CHANGE)).alias(EMISSION),
            (pl.col(REVISION) + 1).cast(pl.Int32).alias(REVISION),
        )
        return self._shape(said).sort(END, START, *self.layout.keys, nulls_last=False)

    def _number(self, held: pl.DataFrame | None, touched: pl.DataFrame | None, tick: Tick) -> pl.DataFrame | None:
        """Count what was just said into the sessions' revisions."""
        if held is None:
            return None
        held = held.drop(_CLUSTER)
        if touched is None:
            return held
        said = touched.filter(self._speaks_at_once(tick)).select(*self.layout.keys, FIRST, pl.lit(1, pl.Int32).alias("_said"))
        on = [*self.layout.keys, FIRST]
        counted = held.join(said, on=on, how="left", nulls_equal=True)
        return counted.with_columns((pl.col(REVISION) + pl.col("_said").fill_null(0)).cast(pl.Int32).alias(REVISION)).drop("_said")

    def _shape(self, said: pl.DataFrame) -> pl.DataFrame:
        return said.with_columns(self._end().alias(END)).select(
            *self.layout.keys, pl.col(FIRST).alias(START), END, COUNT, *self.layout.parts, EMISSION, REVISION
        )

    def _is_closing(self, tick: Tick) -> pl.Expr:
        return (self._end() > tick.judged_by) & (self._end() <= tick.reached)

    def _close(self, held: pl.DataFrame, tick: Tick) -> pl.DataFrame | None:
        if not self.on_close or tick.reached <= tick.judged_by:
            return None
        due = held.filter(self._is_closing(tick))
        if not due.height:
            return None
        said = due.with_columns(pl.lit(FINAL).alias(EMISSION), (pl.col(REVISION) + 1).cast(pl.Int32))
        return self._shape(said).sort(END, START, *self.layout.keys, nulls_last=False)

    def _let_go(self, held: pl.DataFrame, tick: Tick) -> pl.DataFrame:
        if self.on_close and self.lateness:
            numbered = pl.when(self._is_closing(tick)).then(pl.col(REVISION) + 1).otherwise(pl.col(REVISION))
            held = held.with_columns(numbered.cast(pl.Int32).alias(REVISION))
        return held.filter(self._end() + self.lateness > tick.reached)

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        held = state.get(SESSIONS)
        if held is None:
            return None
        return held.select(*self.layout.keys, pl.col(FIRST).alias(START), self._end().alias(END), COUNT)
