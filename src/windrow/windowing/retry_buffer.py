"""Rows that wait for something to be there: they come, and one day they leave."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.columns import COUNT, END, SINCE, START
from windrow.windowing.step import BatchTime, StepResult, Tables, stack

WAITING = "waiting"
# What each row is known by, and whether it leaves (of such a row nothing else is told).
NUMBER, LEAVES = "_number", "_leaves"


@dataclass(frozen=True)
class RetryStep:
    """``retry_for``: how long a row waits."""

    retry_for: int

    def step(self, state: Tables, rows: pl.DataFrame | None, _tick: BatchTime) -> StepResult:
        if rows is None:
            return StepResult(state)
        held = state.get(WAITING)
        left = rows.filter(pl.col(LEAVES))[NUMBER].to_list()
        stay = None if held is None else held.filter(~pl.col(NUMBER).is_in(left))
        both = stack([stay, rows.filter(~pl.col(LEAVES)).drop(LEAVES)])
        return StepResult({} if both is None else {WAITING: both})

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        """The rows that wait, by when they came: until then they do."""
        held = state.get(WAITING)
        if held is None or not held.height:
            return None
        bounds = ((pl.col(START) + self.retry_for).alias(END), pl.col("len").cast(pl.Int64).alias(COUNT))
        return held.group_by(pl.col(SINCE).alias(START)).len().select(START, *bounds)
