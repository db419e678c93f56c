"""Rows that wait for something to be there: they come, and one day they leave."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from windrow.windowing.step import StepResult, Tables, Tick, stack

WAITING = "waiting"
# What each row is known by, and whether it leaves (of such a row nothing else is told).
NUMBER, LEAVES = "_number", "_leaves"


@dataclass(frozen=True)
class WaitStep:
    def step(self, state: Tables, rows: pl.DataFrame | None, _tick: Tick) -> StepResult:
        if rows is None:
            return StepResult(state)
        held = state.get(WAITING)
        left = rows.filter(pl.col(LEAVES))[NUMBER].to_list()
        stay = None if held is None else held.filter(~pl.col(NUMBER).is_in(left))
        both = stack([stay, rows.filter(~pl.col(LEAVES)).drop(LEAVES)])
        return StepResult({} if both is None else {WAITING: both})

    def open_windows(self, _state: Tables) -> pl.DataFrame | None:
        """Rows are held, not windows."""
        return None
