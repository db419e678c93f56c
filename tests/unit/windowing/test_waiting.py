"""Rows that wait: who comes, who leaves, who stays."""

from __future__ import annotations

import polars as pl

from windrow.windowing.step import Tables, Tick
from windrow.windowing.waiting import LEAVES, NUMBER, WAITING, WaitStep

TICK = Tick(None, None, 0)


def change(*rows: tuple[int, str | None, bool]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema={NUMBER: pl.Int64, "v": pl.String, LEAVES: pl.Boolean}, orient="row")


def test_rows_come_and_leave_by_their_number() -> None:
    state: Tables = {}
    state = WaitStep(patience=10).step(state, change((0, "a", False), (1, "b", False)), TICK).state
    state = WaitStep(patience=10).step(state, change((2, "c", False), (0, None, True)), TICK).state
    assert state[WAITING].rows() == [(1, "b"), (2, "c")]
    assert WaitStep(patience=10).step(state, None, TICK).state == state
    assert WaitStep(patience=10).step(state, change((1, None, True), (2, None, True)), TICK).state == {}
