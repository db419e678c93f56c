"""The newest earlier row of another stream: which rows wait for an answer, and which rows may still be one.

A left row is answered when the watermark says that no earlier right row can come any more, so what it finds does not depend on the
order of arrival. Of the right rows behind the watermark only the newest of each key can be found by a row that is still to come.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import COUNT, END, START, TIME, join_on
from windrow.windowing.delta_table import DeltaTable
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, RIGHT_ID, alike
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

_GROUP = "_asof_group"


@dataclass(frozen=True)
class WaitingStep:
    """Left rows: each waits until the watermark has passed its time. With ``is_exclusive``, a right row of the same time is none."""

    keys: tuple[str, ...]
    is_exclusive: bool

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held = stack([state.get(HELD), _plain(rows)])
        if held is None:
            return StepResult({})
        # A row with the watermark's own time is not late: it may still come.
        is_due = pl.col(TIME) <= tick.watermark_after if self.is_exclusive else pl.col(TIME) < tick.watermark_after
        is_due = is_due.fill_null(True)
        due, waits = held.filter(is_due), held.filter(~is_due)
        return StepResult({HELD: waits} if waits.height else {}, due.sort(TIME, ID, nulls_last=True) if due.height else None)

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        return _held_by_key(state.get(HELD), self.keys)


@dataclass(frozen=True)
class NewestStep:
    """Right rows: those that the watermark has not passed, and the newest of each key that it has passed.

    ``comparable``: of these keys, NULL is equal to nothing.
    """

    keys: tuple[str, ...]
    comparable: tuple[str, ...]

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held = stack([state.get(HELD), self._findable(rows)])
        newest = DeltaTable.of(state, self.keys)
        if held is None:
            return StepResult({**newest.tables()})
        is_passed = pl.col(TIME) < tick.watermark_after
        passed, ahead = held.filter(is_passed), held.filter(~is_passed)
        if passed.height:
            # Later in time than what is there: rows behind the watermark are not taken in.
            last = passed.sort(TIME, ID).unique(self.keys, keep="last", maintain_order=True) if self.keys else passed.sort(TIME, ID).tail(1)
            _, rest = newest.take(last.select(self.keys))
            newest = rest.put(last)
        return StepResult({**newest.tables(), **({HELD: ahead} if ahead.height else {})})

    def _findable(self, rows: pl.DataFrame | None) -> pl.DataFrame | None:
        if rows is None:
            return None
        needed = [pl.col(TIME).is_not_null(), *(pl.col(key).is_not_null() for key in self.comparable)]
        found = _plain(rows)
        return None if found is None else found.filter(pl.all_horizontal(needed))

    def candidates(self, state: Tables, new: pl.DataFrame | None, wanted: pl.DataFrame) -> pl.DataFrame | None:
        """Rows that those with the ``wanted`` keys may find, in the order of their numbers."""
        asked = wanted.select(self.keys).unique()
        found = [self._newest(state, asked), *(self._of_keys(frame, asked) for frame in (state.get(HELD), self._findable(new)))]
        everything = stack(found)
        return None if everything is None else everything.sort(ID)

    def _newest(self, state: Tables, asked: pl.DataFrame) -> pl.DataFrame | None:
        delta = DeltaTable.of(state, self.keys)
        whole = delta.base if delta.base is not None else delta.recent
        if whole is not None and whole.select(self.keys).schema == asked.schema:
            return delta.take(asked)[0]
        return self._of_keys(delta.everything(), asked)

    def _of_keys(self, rows: pl.DataFrame | None, asked: pl.DataFrame) -> pl.DataFrame | None:
        if rows is None or not rows.height or not self.keys:
            return rows
        ours, theirs = alike(rows.select(ID, *self.keys), asked, self.keys)
        return rows.filter(ours[ID].is_in(join_on(ours, theirs, self.keys, "semi")[ID].implode()))

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        return _held_by_key(stack([DeltaTable.of(state, self.keys).everything(), state.get(HELD)]), self.keys)


def newest_earlier(left: pl.DataFrame, right: pl.DataFrame | None, keys: tuple[str, ...], *, is_exclusive: bool) -> pl.DataFrame:
    """For each left row, in order, the right row with its keys and the latest time that is not after it (NULL: there is none).

    Of right rows with the same time, the one that came last.
    """
    asked = left.select(pl.col(ID).alias(LEFT_ID), TIME, *keys)
    if right is not None and right.height:
        asked, right = alike(asked, right, keys)
    if right is None or not right.height:
        return asked.select(LEFT_ID, pl.lit(None, pl.Int64).alias(RIGHT_ID))
    offered = right.sort(TIME, ID).unique([*keys, TIME], keep="last", maintain_order=True).select(pl.col(ID).alias(RIGHT_ID), TIME, *keys)
    groups = pl.concat([asked.select(keys), offered.select(keys)], how="vertical_relaxed").unique() if keys else None
    asked, offered = _grouped(asked, groups, keys), _grouped(offered, groups, keys)
    timed = asked.filter(pl.col(TIME).is_not_null()).sort(TIME)
    found = timed.join_asof(
        offered.sort(TIME), on=TIME, by=_GROUP, strategy="backward", allow_exact_matches=not is_exclusive, check_sortedness=False
    )
    return asked.select(LEFT_ID).join(found.select(LEFT_ID, RIGHT_ID), on=LEFT_ID, how="left", maintain_order="left")


def _grouped(rows: pl.DataFrame, groups: pl.DataFrame | None, keys: tuple[str, ...]) -> pl.DataFrame:
    """Keys as one number, by which NULL is a key like any other."""
    if groups is None:
        return rows.with_columns(pl.lit(0, pl.UInt32).alias(_GROUP))
    numbered = groups.with_row_index(_GROUP)
    return rows.join(numbered, on=list(keys), how="left", nulls_equal=True, maintain_order="left").drop(keys)


def _plain(rows: pl.DataFrame | None) -> pl.DataFrame | None:
    return None if rows is None else rows.drop(MARK, strict=False)


def _held_by_key(held: pl.DataFrame | None, keys: tuple[str, ...]) -> pl.DataFrame | None:
    if held is None or not held.height:
        return None
    bounds = (pl.col(TIME).min().alias(START), pl.col(TIME).max().alias(END), pl.len().cast(pl.Int64).alias(COUNT))
    return held.group_by(pl.col(key).cast(pl.String) for key in keys).agg(bounds)
