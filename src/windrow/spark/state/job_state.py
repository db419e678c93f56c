"""The state of a job between two batches: clocks, the tables of every step, totals. And the change that a batch makes to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from windrow.observe.ledger import Ledger
from windrow.observe.row_metrics import Totals
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.state_file import frame_of
from windrow.windowing.clock import Clock
from windrow.windowing.columns import END, NEVER, REVISION, START
from windrow.windowing.having import LET_OUT, Panes, settle
from windrow.windowing.step import BatchTime, StepResult, Tables, WindowStep

KNOWN = "known"
_HAVING = "@having"


def having_name(stage: str) -> str:
    """Where the state of a stage's HAVING stands, beside that of its step."""
    return f"{stage}{_HAVING}"


def stage_of(name: str) -> tuple[str, bool]:
    """The stage whose state stands there, and whether it is that of its HAVING."""
    return name.removesuffix(_HAVING), name.endswith(_HAVING)


@dataclass
class StepInput:
    """What one step was given in one batch: replaying it gives the same state again."""

    tick: BatchTime
    rows: pa.Table | None
    # What HAVING said of each emission, where a group may emit more than once.
    verdicts: pa.Table | None = None
    # Windows that end at or before this can emit no more.
    retention_bound: int = NEVER
    # How HAVING tells windows apart.
    panes: Panes = Panes.FIXED

    @staticmethod
    def of(tick: BatchTime, rows: pa.Table | None, outcome: StepResult) -> StepInput:
        """What a step was given, without the rows that its state does not depend on any more."""
        if rows is not None and outcome.lasting is not None:
            rows = rows.take(outcome.lasting.to_arrow())
        return StepInput(tick, rows)


@dataclass
class Change:
    """One batch: the inputs of its steps, and the small things as they stood after it."""

    batch_id: int
    steps: dict[str, StepInput]
    clocks: dict[str, Clock]
    counters: JobCounters
    ledger: Ledger
    metrics: Totals = field(default_factory=dict)


@dataclass
class JobState:
    batch_id: int = -1
    tables: dict[str, Tables] = field(default_factory=dict)
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    clocks: dict[str, Clock] = field(default_factory=dict)
    counters: JobCounters = field(default_factory=JobCounters)
    ledger: Ledger = field(default_factory=Ledger)
    # Of the metrics that annotations define, by name.
    metrics: Totals = field(default_factory=dict)

    def replay(self, change: Change, steps: Mapping[str, WindowStep]) -> None:
        """Take a recorded batch in again; its emissions are not wanted a second time."""
        for name, given in change.steps.items():
            rows = self.take_schema(name, given.rows)
            self.tables[name] = steps[name].step(self.tables.get(name, {}), rows, given.tick).state
            if given.verdicts is not None:
                _, known = self.settle_having(name, given.verdicts, given.retention_bound, given.panes)
                self.tables[having_name(name)] = known
        self.settle(change)

    def take_schema(self, name: str, rows: pa.Table | None) -> pl.DataFrame | None:
        if rows is None or rows.num_rows == 0:
            return None
        self.schemas[name] = rows.schema
        return frame_of(rows)

    def settle_having(self, name: str, verdicts: pa.Table, retention_bound: int, panes: Panes) -> tuple[pl.DataFrame, Tables]:
        """What HAVING makes of a batch's emissions, and what is known of the groups after it."""
        frame = frame_of(verdicts)
        keys = tuple(column for column in frame.columns if column not in (START, END, LET_OUT, REVISION))
        judged, known = settle(keys, self.tables.get(having_name(name), {}).get(KNOWN), frame, retention_bound, panes)
        return judged, {} if known is None or not known.height else {KNOWN: known}

    def settle(self, change: Change) -> None:
        self.batch_id = change.batch_id
        self.clocks = dict(change.clocks)
        self.counters = change.counters.copy()
        self.ledger = change.ledger
        self.metrics = change.metrics
        # What the executors hold by now is not held here.
        self.tables = {name: tables for name, tables in self.tables.items() if self.counters.buckets(name) is None}

    @property
    def bytes_held(self) -> int:
        return int(sum(table.estimated_size() for tables in self.tables.values() for table in tables.values()))
