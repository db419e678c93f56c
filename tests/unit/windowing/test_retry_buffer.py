"""Rows that wait: who comes, who leaves, who stays."""

from __future__ import annotations

import polars as pl

from windrow.windowing.retry_buffer import LEAVES, NUMBER, WAITING, RetryStep
from windrow.windowing.step import BatchTime, Tables

TICK = BatchTime(None, None, 0)


def change(*rows: tuple[int, str | None, bool]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema={NUMBER: pl.Int64, "v": pl.String, LEAVES: pl.Boolean}, orient="row")


def test_rows_come_and_leave_by_their_number() -> None:
    state: Tables = {}
    state = RetryStep(retry_for=10).step(state, change((0, "a", False), (1, "b", False)), TICK).state
    state = RetryStep(retry_for=10).step(state, change((2, "c", False), (0, None, True)), TICK).state
    assert state[WAITING].rows() == [(1, "b"), (2, "c")]
    assert RetryStep(retry_for=10).step(state, None, TICK).state == state
    assert RetryStep(retry_for=10).step(state, change((1, None, True), (2, None, True)), TICK).state == {}
