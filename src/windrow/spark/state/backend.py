"""Where the state of a grouping stage lives, and who runs its step: the driver, or the executors with a share each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.model.fate import Fate
from windrow.spark.query.runner import LazyRelation, QueryRunner
from windrow.spark.row_columns import CLOCK, INCLUDED, JUDGED, ROW, ROWS_COUNT
from windrow.spark.state.job_state import JobState, StepInput
from windrow.windowing.numbering import PANE
from windrow.windowing.sessions import LATE_ID
from windrow.windowing.step import BatchTime, StepResult, Tables, WindowStep


@dataclass(frozen=True)
class Gathered:
    """What the executors made of a batch. ``fates`` holds every fate with its counts; ``rows`` what the step takes, if it is here.

    ``is_merged``: what different tasks have of a group was brought together.
    """

    fates: pa.Table
    rows: pa.Table | None = None
    is_merged: bool = True


@dataclass(frozen=True)
class Taken:
    """What a step gave. ``refused`` are the rows that no window took; ``tables`` the state after, if it is kept here."""

    given: StepInput
    emissions: pl.DataFrame | None = None
    refused: pa.Table | None = None
    tables: Tables | None = None


class StateBackend(Protocol):
    """``gather`` sends one batch of a stage through the executors; ``step`` then moves the stage's state on.

    ``unmerged_upto``: of up to so many tasks, the step takes what each has of a group.
    """

    def gather(
        self, rows: LazyRelation, sql: Callable[[str], str], batch_id: int, /, *, is_strict: bool, unmerged_upto: int
    ) -> Gathered: ...

    def step(self, rows: pa.Table | None, tick: BatchTime, batch_id: int, /) -> Taken: ...


@dataclass(frozen=True)
class DriverState:
    """The state of one stage in the driver: for whatever fits there, nothing is faster."""

    name: str
    step_of: WindowStep
    state: JobState
    queries: QueryRunner

    def gather(self, rows: LazyRelation, sql: Callable[[str], str], _batch_id: int, /, *, is_strict: bool, unmerged_upto: int) -> Gathered:
        found = self.queries.partials(rows, sql, is_strict=is_strict, unmerged_upto=unmerged_upto)
        kept = kept_rows(found.table)
        return Gathered(found.table, kept if kept.num_rows else None, found.is_merged)

    def step(self, rows: pa.Table | None, tick: BatchTime, _batch_id: int, /) -> Taken:
        carried = None
        numbers = None
        if rows is not None:
            rows, carried = without_carried(rows)
            rows, numbers = without_numbers(rows)
        frame = self.state.take_schema(self.name, rows)
        if frame is not None and numbers is not None:
            frame = frame.with_columns(numbers)
        outcome = self.step_of.step(self.state.tables.get(self.name, {}), frame, tick)
        return Taken(StepInput.of(tick, rows, outcome), outcome.emissions, refused_rows(outcome, carried), outcome.state)


def kept_rows(partials: pa.Table) -> pa.Table:
    """The rows for the step: those that were not set aside, without what is only recorded."""
    rows, is_kept = (
        partials.drop_columns([name for name in partials.column_names if is_recorded(name)]),
        pc.equal(partials[JUDGED], Fate.OK.value),
    )
    # Most batches have nothing to leave out, and a filter copies all of them.
    return rows if pc.all(is_kept, min_count=0).as_py() else rows.filter(is_kept)


def is_recorded(column: str) -> bool:
    """Whether a column is for the accounts and the clock, and the step has no use for it."""
    return column in (JUDGED, INCLUDED) or column.startswith(CLOCK)


def without_carried(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Rows as the step takes them, and what each carries in case no window takes it: that has the number of the row."""
    if LATE_ID in rows.column_names:
        ids = pa.array([None if t is None else i for i, t in enumerate(rows[LATE_ID].to_pylist())], pa.int64())
        rows = rows.set_column(rows.column_names.index(LATE_ID), LATE_ID, ids)
    # Rows that were run up carry nothing: there is always a window that takes them.
    carried = [name for name in (ROW, ROWS_COUNT) if name in rows.column_names]
    return rows.drop_columns(carried), rows.select(carried)


def without_numbers(rows: pa.Table) -> tuple[pa.Table, pl.Series | None]:
    """Rows as they are written down, and the numbers of their panes, which are those of this batch alone."""
    if PANE not in rows.column_names:
        return rows, None
    return rows.drop_columns([PANE]), pl.Series(PANE, rows[PANE])


def refused_rows(outcome: StepResult, carried: pa.Table | None) -> pa.Table | None:
    if not outcome.rejected or carried is None:
        return None
    return carried.take(pa.array(outcome.rejected, pa.int64()))
