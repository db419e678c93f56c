"""The state of a job between two batches: clocks, the tables of every step, totals. And the change that a batch makes to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from windrow.observe.ledger import Ledger
from windrow.windowing.clock import Clock
from windrow.windowing.step import Tables, Tick, WindowStep


@dataclass
class StepInput:
    """What one step was given in one batch: replaying it gives the same state again."""

    tick: Tick
    rows: pa.Table | None


@dataclass
class Change:
    """One batch: the inputs of its steps, and the small things as they stood after it."""

    batch_id: int
    steps: dict[str, StepInput]
    clocks: dict[str, Clock]
    counters: dict[str, int]
    ledger: Ledger


@dataclass
class JobState:
    batch_id: int = -1
    tables: dict[str, Tables] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    clocks: dict[str, Clock] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    def replay(self, change: Change, steps: Mapping[str, WindowStep]) -> None:
        """Take a recorded batch in again; its emissions are not wanted a second time."""
        for name, given in change.steps.items():
            rows = self.take_schema(name, given.rows)
            self.tables[name] = steps[name].step(self.tables.get(name, {}), rows, given.tick).state
        self.settle(change)

    def take_schema(self, name: str, rows: pa.Table | None) -> pl.DataFrame | None:
        if rows is None or rows.num_rows == 0:
            return None
        self.schemas[name] = rows.schema
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def settle(self, change: Change) -> None:
        self.batch_id = change.batch_id
        self.clocks = dict(change.clocks)
        self.counters = dict(change.counters)
        self.ledger = change.ledger

    @property
    def bytes_held(self) -> int:
        return int(sum(table.estimated_size() for tables in self.tables.values() for table in tables.values()))

    def open_windows(self, steps: Mapping[str, WindowStep]) -> dict[str, int]:
        counts = {}
        for name, step in steps.items():
            windows = step.open_windows(self.tables.get(name, {}))
            counts[name] = 0 if windows is None else windows.height
        return counts


def tick_to_json(tick: Tick) -> dict[str, Any]:
    return {"before": tick.before, "after": tick.after, "now": tick.now}
