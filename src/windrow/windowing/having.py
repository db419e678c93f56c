"""HAVING over time: a group that was let out and is rejected later must be taken back, and only what is emitted is numbered."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import polars as pl

from windrow.windowing.columns import END, REVISION, START, join_on
from windrow.windowing.step import stack

LET_OUT = "_let_out"
EMITS, RETRACTS = "_emits", "_retracts"
_EMITTED = "_said"  # how often a group has emitted; saved states have it by this name
_PLACE, _OWN, _GROUP = "_verdict_place", "_own_revision", "_having_group"


class Panes(StrEnum):
    """How an emission is known to be of the same window as one before it."""

    FIXED = "fixed"  # by its end: windows of CUMULATE start together
    MOVING = "moving"  # by what it holds: a session grows at both ends, and takes others in
    COUNTED = "counted"  # by the group, which has one window at a time; the first emission of each has number one


def settle(
    keys: tuple[str, ...], known: pl.DataFrame | None, verdicts: pl.DataFrame, retention_bound: int, panes: Panes = Panes.FIXED
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """What becomes of each emission, in order, and what is known of groups afterwards.

    ``verdicts`` has one row per emission: its group's keys, its window's bounds, whether HAVING lets it out, and the number that it
    would have without HAVING. Gives for each whether it is emitted, whether as a retraction, and its revision. Windows that end at or
    before ``retention_bound`` are forgotten.
    """
    verdicts = verdicts.with_columns(pl.col(LET_OUT).fill_null(False))
    if panes is not Panes.FIXED:
        return _one_by_one(keys, known, verdicts, retention_bound, panes)
    pane = (*keys, END)
    ordered = verdicts.with_row_index(_PLACE).rename({REVISION: _OWN})
    if known is None:
        seeded = ordered.with_columns(pl.lit(False).alias("_was_out"), pl.lit(0, pl.Int32).alias(_EMITTED))
    else:
        before = known.select(*pane, pl.col(LET_OUT).alias("_was_out"), _EMITTED)
        # What begins anew is not what was known under its name: the group had been forgotten.
        is_new = pl.col(_OWN).first().over(pane, order_by=_PLACE) == 1
        seeded = join_on(ordered, before, pane, "left").with_columns(
            pl.when(is_new).then(False).otherwise(pl.col("_was_out").fill_null(False)).alias("_was_out"),
            pl.when(is_new).then(pl.lit(0, pl.Int32)).otherwise(pl.col(_EMITTED).fill_null(0)).alias(_EMITTED),
        )
    seeded = seeded.sort(_PLACE)
    previous = pl.col(LET_OUT).shift(1).over(pane, order_by=_PLACE).fill_null(pl.col("_was_out"))
    judged = seeded.with_columns((pl.col(LET_OUT) | previous).alias(EMITS), (~pl.col(LET_OUT) & previous).alias(RETRACTS))
    emissions = pl.col(EMITS).cast(pl.Int32).cum_sum().over(pane, order_by=_PLACE)
    judged = judged.with_columns((pl.col(_EMITTED) + emissions).cast(pl.Int32).alias(REVISION))
    last = judged.filter(pl.col(_PLACE) == pl.col(_PLACE).max().over(pane))
    fresh = last.select(*keys, START, END, LET_OUT, pl.col(REVISION).alias(_EMITTED))
    untouched = None if known is None else join_on(known, fresh.select(*pane), pane, "anti")
    after = stack([untouched, fresh])
    if after is not None:
        after = after.filter(pl.col(END).is_null() | (pl.col(END) > retention_bound))
    return judged.select(EMITS, RETRACTS, REVISION), after


class _Emitted(NamedTuple):
    """What is known of a window."""

    start: int
    end: int
    is_out: bool
    revision: int


def _one_by_one(
    keys: tuple[str, ...], known: pl.DataFrame | None, verdicts: pl.DataFrame, retention_bound: int, panes: Panes
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    groups = _groups(keys, known, verdicts)
    held: dict[int, list[_Emitted]] = {}
    if known is not None:
        for group, *emitted in _in_groups(keys, known, groups).select(_GROUP, START, END, LET_OUT, _EMITTED).iter_rows():
            held.setdefault(group, []).append(_Emitted(*emitted))
    judged: list[tuple[bool, bool, int]] = []
    for group, start, end, is_out, own in _in_groups(keys, verdicts, groups).select(_GROUP, START, END, LET_OUT, REVISION).iter_rows():
        there = held.get(group, [])
        if panes is Panes.COUNTED:
            mine = [] if own == 1 else there
            others: list[_Emitted] = []
        else:
            mine = [emitted for emitted in there if start <= emitted.start and emitted.end <= end]
            others = [emitted for emitted in there if emitted not in mine]
        was_out = any(emitted.is_out for emitted in mine)
        revision = max((emitted.revision for emitted in mine), default=0) + (is_out or was_out)
        judged.append((is_out or was_out, was_out and not is_out, revision))
        held[group] = [*others, _Emitted(start, end, is_out, revision)]
    rows = [
        (group, *emitted) for group, every in held.items() for emitted in every if panes is Panes.COUNTED or emitted.end > retention_bound
    ]
    types = {_GROUP: pl.UInt32, START: pl.Int64, END: pl.Int64, LET_OUT: pl.Boolean, _EMITTED: pl.Int32}
    after = pl.DataFrame(rows, types, orient="row").join(groups, on=_GROUP).select(*keys, START, END, LET_OUT, _EMITTED)
    return pl.DataFrame(judged, {EMITS: pl.Boolean, RETRACTS: pl.Boolean, REVISION: pl.Int32}, orient="row"), after


def _groups(keys: tuple[str, ...], known: pl.DataFrame | None, verdicts: pl.DataFrame) -> pl.DataFrame:
    """The groups, each with a number."""
    if not keys:
        return pl.DataFrame({_GROUP: [0]}, {_GROUP: pl.UInt32})
    every = stack([None if known is None else known.select(keys), verdicts.select(keys)])
    assert every is not None
    return every.unique(maintain_order=True).with_row_index(_GROUP)


def _in_groups(keys: tuple[str, ...], rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    if not keys:
        return rows.with_columns(pl.lit(0, pl.UInt32).alias(_GROUP))
    return join_on(rows, groups, keys, "left", maintain_order="left")
