"""Pairs of rows of two streams that are close in time: which belong together, and how long each must be kept."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import COUNT, END, START, TIME
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

HELD = "held"  # the one table of a side's state
ID = "_id"  # number of a row within its side, in arrival order
MATCHED = "_matched"  # whether the row was ever paired
MARK = "_mark"  # a row of the input that only says: the held row with this id is paired now
LEFT_ID, RIGHT_ID = "_left_id", "_right_id"

_BUCKET, _LEFT_TIME = "_time_bucket", "_left_t"


@dataclass(frozen=True)
class Span:
    """``low <= right time - left time <= high``, both ends included."""

    low: int
    high: int


def find_pairs(
    left: tuple[pl.DataFrame | None, pl.DataFrame | None],
    right: tuple[pl.DataFrame | None, pl.DataFrame | None],
    keys: tuple[str, ...],
    span: Span,
    comparable: tuple[str, ...] | None = None,
) -> pl.DataFrame:
    """Ids of rows that belong together, each pair once. Each side is what is held and what is new; held ones were paired before.

    Of ``comparable`` keys, all where nothing is said, NULL is equal to nothing; of the others, NULL is equal to NULL. The order is that
    of time: of the later row of a pair, then of arrival.
    """
    comparable = keys if comparable is None else comparable
    everything_right = stack([right[0], right[1]])
    found = [_pairs(left[1], everything_right, keys, span, comparable), _pairs(left[0], right[1], keys, span, comparable)]
    pairs = stack(list(found))
    if pairs is None:
        return pl.DataFrame(schema={LEFT_ID: pl.Int64, RIGHT_ID: pl.Int64})
    return pairs.sort(pl.max_horizontal(_LEFT_TIME, TIME), LEFT_ID, RIGHT_ID).select(LEFT_ID, RIGHT_ID)


def _pairs(
    left: pl.DataFrame | None, right: pl.DataFrame | None, keys: tuple[str, ...], span: Span, comparable: tuple[str, ...]
) -> pl.DataFrame | None:
    if left is None or right is None or not left.height or not right.height or span.low > span.high:
        return None
    # What a left row can be paired with lies in two neighbouring buckets of the span's width: a key with many rows stays cheap.
    width = max(span.high - span.low, 1)
    ours = left.select(*keys, pl.col(ID).alias(LEFT_ID), pl.col(TIME).alias(_LEFT_TIME))
    first = (pl.col(_LEFT_TIME) + span.low).floordiv(width)
    ours = pl.concat([ours.with_columns(bucket.alias(_BUCKET)) for bucket in (first, first + 1)])
    theirs = right.select(*keys, pl.col(ID).alias(RIGHT_ID), TIME, pl.col(TIME).floordiv(width).alias(_BUCKET))
    ours, theirs = alike(ours, theirs, keys)
    if len(comparable) < len(keys):
        ours, theirs = (with_keys(rows, comparable) for rows in (ours, theirs))
    near = ours.join(theirs, on=[*keys, _BUCKET], how="inner", nulls_equal=len(comparable) < len(keys))
    return near.filter((pl.col(TIME) - pl.col(_LEFT_TIME)).is_between(span.low, span.high)).select(LEFT_ID, RIGHT_ID, _LEFT_TIME, TIME)


def with_keys(rows: pl.DataFrame, comparable: tuple[str, ...]) -> pl.DataFrame:
    """Rows without those of which a key is NULL that is equal to nothing."""
    return rows.filter(pl.all_horizontal(pl.col(key).is_not_null() for key in comparable)) if comparable else rows


def alike(left: pl.DataFrame, right: pl.DataFrame, keys: tuple[str, ...]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keys of one type: a side that had only NULLs takes the other's, numbers meet as numbers, all else as text."""
    for key in keys:
        one, other = left.schema[key], right.schema[key]
        if one == other:
            continue
        common: pl.DataType = pl.Float64() if one.is_numeric() and other.is_numeric() else pl.String()
        common = other if one == pl.Null else one if other == pl.Null else common
        left, right = left.with_columns(pl.col(key).cast(common)), right.with_columns(pl.col(key).cast(common))
    return left, right


@dataclass(frozen=True)
class Until:
    """The watermark from which on nothing can be paired with a row: so long ``after`` its time.

    With ``advance``, after the start of the last window that holds it: windows begin at ``offset`` and then every ``advance``.
    """

    after: int
    advance: int | None = None
    offset: int = 0

    def of(self, time: pl.Expr) -> pl.Expr:
        return (time if self.advance is None else time - (time - self.offset) % self.advance) + self.after

    def sql(self, time: str) -> str:
        return f"({time if self.advance is None else f'{time} - pmod({time} - {self.offset}, {self.advance})'} + {self.after})"


@dataclass(frozen=True)
class SideStep:
    """The rows of one side. ``until``: how long each can find a partner. ``keeps``: unpaired rows come out."""

    keys: tuple[str, ...]
    until: Until
    keeps: bool
    # Keys of which NULL is equal to nothing; None: all.
    comparable: tuple[str, ...] | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        held = state.get(HELD)
        if rows is not None:
            new = rows.filter(~pl.col(MARK)).drop(MARK)
            marked = rows.filter(pl.col(MARK)).select(ID)
            if held is not None and marked.height:
                held = held.with_columns((pl.col(MATCHED) | pl.col(ID).is_in(marked[ID].implode())).alias(MATCHED))
            held = stack([held, new])
        if held is None or not held.height:
            return StepResult({})
        stays = (self.until.of(pl.col(TIME)) > tick.watermark_after).fill_null(False)
        comparable = self.keys if self.comparable is None else self.comparable
        if not self.keeps and comparable:
            stays &= ~pl.any_horizontal(pl.col(key).is_null() for key in comparable)
        kept = held.filter(stays)
        gone = held.filter(~stays & ~pl.col(MATCHED)) if self.keeps else None
        state = {HELD: kept} if kept.height else {}
        return StepResult(state, gone.sort(TIME, ID, nulls_last=True) if gone is not None and gone.height else None)

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        """The rows that wait, by key: from the time of the first until nothing can be paired with the last. Keys are text."""
        held = state.get(HELD)
        if held is None or not held.height:
            return None
        # Windows end before their end; a bound of time is the last moment that a partner can have.
        until = self.until.of(pl.col(TIME)).max() - (1 if self.until.advance is None else 0)
        bounds = (pl.col(TIME).min().alias(START), until.alias(END), pl.len().cast(pl.Int64).alias(COUNT))
        return held.group_by(pl.col(key).cast(pl.String) for key in self.keys).agg(bounds)
