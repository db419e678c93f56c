"""The windows of one statement in the kept versions of a job's state: what is held, and everything that was emitted. Starts no Spark.

A change file is the input of a step, so what a window emitted in a kept batch is found by taking the step again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from windrow.jobs.history import JobHistory
from windrow.plan.stages import Aggregate
from windrow.sql.render import render_expr
from windrow.windowing.columns import COUNT, EMISSION, END, REVISION, START


@dataclass(frozen=True)
class WindowFilter:
    """Which windows are meant: those with all of these values among their keys, and this start. What is empty admits all."""

    keys: tuple[str, ...] = ()
    start: int | None = None

    def of(self, windows: pl.DataFrame, key_columns: Sequence[str]) -> list[dict[str, Any]]:
        found = windows if self.start is None else windows.filter(pl.col(START) == self.start)
        return [row for row in found.iter_rows(named=True) if {str(row[name]) for name in key_columns}.issuperset(self.keys)]


@dataclass(frozen=True)
class HeldWindow:
    """``key`` has the values of the group by the text they were written as. Bounds are microseconds."""

    key: tuple[tuple[str, Any], ...]
    start: int | None
    end: int | None
    rows: int


@dataclass(frozen=True)
class Emission:
    """What a window emitted in one batch, and the watermark of its statement before and after that batch."""

    window: HeldWindow
    batch_id: int
    kind: str
    revision: int
    before: int | None
    after: int | None


@dataclass(frozen=True)
class WindowHistory:
    """``first`` and ``last`` are the batches whose emissions are known; ``first`` is None where none is."""

    held: tuple[HeldWindow, ...]
    emissions: tuple[Emission, ...]
    first: int | None
    last: int


def window_history(history: JobHistory, stage: Aggregate, wanted: WindowFilter) -> WindowHistory:
    """Windows that the executors hold are read from their buckets."""
    batch, states = history.open_state(None)
    windows = next((state.windows for state in states if state.statement == stage.name), None)
    texts = [render_expr(expr) for _, expr in stage.keys]
    held = [] if windows is None else [_window(row, texts, texts) for row in wanted.of(windows, texts)]
    emissions: list[Emission] = []
    first: int | None = None
    slots = [slot for slot, _ in stage.keys]
    for taken in history.steps_taken(stage.name):
        first = taken.batch_id if first is None else first
        if taken.emissions is None:
            continue
        for row in wanted.of(taken.emissions, slots):
            window = _window(row, slots, texts)
            emissions.append(Emission(window, taken.batch_id, row[EMISSION], row[REVISION], taken.tick.before, taken.tick.after))
    return WindowHistory(tuple(held), tuple(emissions), first, batch)


def _window(row: dict[str, Any], columns: Sequence[str], texts: Sequence[str]) -> HeldWindow:
    key = tuple((text, row[column]) for column, text in zip(columns, texts, strict=True))
    return HeldWindow(key, row[START], row[END], int(row[COUNT] or 0))
