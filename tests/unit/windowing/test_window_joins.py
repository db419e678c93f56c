"""Joins inside windows: pure tables in, tables out."""

from __future__ import annotations

import polars as pl
import pytest

from windrow.model.window_kinds import Cumulate, Sliding, Tumbling
from windrow.windowing.columns import END, FOREVER, START, TIME
from windrow.windowing.joins import ID, LEFT_ID, RIGHT_ID
from windrow.windowing.step import BatchTime
from windrow.windowing.window_joins import FixedWindows, SessionWindows, pairs_in_windows, unpaired

KEYS = ("_j0",)


def rows(*times: int, key: str | None = "a") -> pl.DataFrame:
    schema = {ID: pl.Int64, "_j0": pl.String, TIME: pl.Int64}
    return pl.DataFrame({ID: range(len(times)), "_j0": [key] * len(times), TIME: list(times)}, schema=schema)


@pytest.mark.parametrize(("size", "advance", "offset"), [(10, 10, 0), (10, 5, 0), (7, 3, 1), (10, 3, 0), (4, 1, -2)])
def test_every_window_closes_once_whatever_the_batches(size: int, advance: int, offset: int) -> None:
    windows = FixedWindows(Sliding(size, advance, offset))
    times = [-7, -1, 0, 3, 5, 9, 10, 14, 23]
    every = {(i, s) for i, t in enumerate(times) for s in range(-60, 60) if s <= t < s + size and (s - offset) % advance == 0}
    for marks in ([FOREVER], [0, 5, FOREVER], [-3, 0, 1, 9, 10, 11, 24, 40, FOREVER]):
        closed: list[tuple[int, int]] = []
        before: int | None = None
        for after in marks:
            found = windows.closing(rows(*times), BatchTime(before, after, 0))
            assert ((found[END] <= after) & (found[END] - found[START] == size)).all()
            closed += zip(found[ID].to_list(), found[START].to_list(), strict=True)
            before = after
        assert len(closed) == len(set(closed))
        assert set(closed) == every


def test_nothing_closes_before_there_is_a_watermark() -> None:
    assert FixedWindows(Sliding(10, 5)).closing(rows(1), BatchTime(None, None, 0)).is_empty()


def test_lateness_puts_the_close_off() -> None:
    windows = FixedWindows(Tumbling(10), lateness=5)
    assert windows.closing(rows(1), BatchTime(None, 14, 0)).is_empty()
    assert windows.closing(rows(1), BatchTime(14, 15, 0)).height == 1


def test_a_pair_once_for_each_window_that_holds_both() -> None:
    windows, tick = FixedWindows(Sliding(10, 5)), BatchTime(None, FOREVER, 0)
    left, right = windows.closing(rows(4), tick), windows.closing(rows(6, 12), tick)
    pairs = pairs_in_windows(left, right, KEYS, KEYS)
    assert pairs.rows() == [(0, 0, 0, 10)]
    assert unpaired(left, pairs, LEFT_ID).rows() == [(0, -5, 5)]
    assert unpaired(right, pairs, RIGHT_ID).rows() == [(0, 5, 15), (1, 5, 15), (1, 10, 20)]


def test_null_meets_null_only_where_it_is_asked_to() -> None:
    windows, tick = FixedWindows(Tumbling(10)), BatchTime(None, FOREVER, 0)
    left, right = windows.closing(rows(1, key=None), tick), windows.closing(rows(2, key=None), tick)
    assert pairs_in_windows(left, right, KEYS, KEYS).is_empty()
    assert pairs_in_windows(left, right, KEYS, ()).height == 1


def test_sessions_are_made_of_the_rows_of_both_sides() -> None:
    both = pl.concat([rows(0, 20), rows(5, 10, key="b"), rows(4, 9, key="a")])
    found = SessionWindows(5).sessions(both, KEYS)
    bounds = {(key, time): (start, end) for key, time, start, end in found.select("_j0", TIME, START, END).rows()}
    assert bounds == {("a", 0): (0, 14), ("a", 4): (0, 14), ("a", 9): (0, 14), ("a", 20): (20, 25), ("b", 5): (5, 15), ("b", 10): (5, 15)}


def test_windows_that_start_together_are_joined_each() -> None:
    windows, tick = FixedWindows(Cumulate(step=5, size=10)), BatchTime(None, FOREVER, 0)
    left, right = windows.closing(rows(1), tick), windows.closing(rows(7), tick)
    pairs = pairs_in_windows(left, right, KEYS, KEYS)
    assert pairs.rows() == [(0, 0, 0, 10)]
    assert unpaired(left, pairs, LEFT_ID).rows() == [(0, 0, 5)]
    assert unpaired(right, pairs, RIGHT_ID).is_empty()
