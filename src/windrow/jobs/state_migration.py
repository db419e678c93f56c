"""The state of one version as the state of the next: loaded by the steps that made it, written under the names of the new plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pyarrow as pa

from windrow.changes import Change
from windrow.plan.cut_over import CutOver
from windrow.plan.physical.renames import part_names
from windrow.plan.stages import Aggregate, Job, Read
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.buckets import BucketWork
from windrow.spark.state.columns import Meanings, aggregate_meanings, describe, renaming
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState, having_name, stage_of
from windrow.spark.state.state_store import StateStore
from windrow.storage import Folder, folder_name
from windrow.windowing.clock import Clock
from windrow.windowing.columns import START
from windrow.windowing.step import Tables

# From a stage to the time from which on its new aggregates are whole: windows that start before hold rows that they have not seen.
Beginnings = dict[str, int]


class StateMigration:
    """``old`` and ``new`` are the same job in two versions; ``parts`` are where the state of ``old`` lies.

    With a cut, ``new`` has the stages of both for a while, and the state of the old ones goes on with these.
    """

    def __init__(self, folder: Folder, old: Job, new: Job, parts: tuple[str, str], cut: CutOver | None = None) -> None:
        self._folder = folder
        self._cut = cut
        self._old, self._new = old, new
        self._state, self._buckets = parts
        self._stages = {stage.name: stage for stage in old.stages}
        self.beginnings: Beginnings = {}

    def load(self, batch_id: int) -> JobState:
        store = StateStore(self._folder.child(self._state), meanings=column_meanings(self._old))
        return store.load(batch_id, steps_of(self._old))

    def write(self, state: JobState, changes: list[Change], parts: tuple[str, str]) -> None:
        """Write the state of the new version beside that of the old one, which stays as it is."""
        for place in parts:
            self._folder.remove(place)
        new = JobState(
            state.batch_id,
            clocks=self._clocks(state.clocks),
            counters=self._counters(state),
            ledger=state.ledger,
            metrics=state.metrics,
        )
        kept = {stage.name: stage for stage in self._new.stages}
        for name, tables in state.tables.items():
            stage, is_having = stage_of(name)
            target = self._goes_to(stage)
            if target in kept or (target == stage and stage.rpartition("/")[0] in kept and not self._is_over(stage)):
                new.tables[having_name(target) if is_having else target] = (
                    tables if is_having or target != stage else self._tables(kept.get(stage), tables, changes)
                )
        for name, schema in state.schemas.items():
            target = self._goes_to(name)
            after = kept.get(target)
            if isinstance(after, Aggregate) and target == name:
                before = self._stages[name]
                assert isinstance(before, Aggregate), "a stage of another kind is refused"
                new.schemas[name] = _reshaped_schema(schema, before, after)
            elif target in kept or (name.rpartition("/")[0] in kept and not self._is_over(name)):
                new.schemas[target] = schema
        for before in self._stages.values():
            buckets = state.counters.buckets(before.name)
            after = kept.get(self._goes_to(before.name))
            if isinstance(before, Aggregate) and isinstance(after, Aggregate) and buckets is not None:
                self._move_buckets(before, after, buckets, state, changes, parts[1])
        StateStore(self._folder.child(parts[0]), meanings=column_meanings(self._new)).snapshot(new)

    def _goes_to(self, stage: str) -> str:
        """The stage that goes on with what a stage has kept."""
        return self._cut.earlier(stage) if self._cut is not None and stage in self._cut.stages else stage

    def _is_over(self, name: str) -> bool:
        """Whether a stage is of a text before the old one, whose windows have all closed."""
        stage = self._stages.get(name)
        return isinstance(stage, Aggregate) and stage.cut is not None and stage.cut.is_before

    def _tables(self, after: object, tables: Tables, changes: list[Change]) -> Tables:
        if not isinstance(after, Aggregate):
            return tables
        before = self._stages[after.name]
        assert isinstance(before, Aggregate), "a stage of another kind is refused"
        added = [change.added_call for change in changes if change.added_call is not None and _is_of(change, after.name)]
        if added:
            self._note_beginning(before, tables)
        return {name: _reshaped(frame, before, after) for name, frame in tables.items()}

    def _note_beginning(self, before: Aggregate, tables: Tables) -> None:
        held = steps_of(replace(self._old, stages=(before,)))[before.name].open_windows(tables)
        if held is not None and held.height:
            latest = held[START].max()
            assert isinstance(latest, int)
            self.beginnings[before.name] = max(self.beginnings.get(before.name, latest + 1), latest + 1)

    def _move_buckets(self, before: Aggregate, after: Aggregate, buckets: int, state: JobState, changes: list[Change], place: str) -> None:
        old = BucketWork(before, self._folder.child(f"{self._buckets}/{folder_name(before.name)}"), "", 1, 1)
        new = BucketWork(after, self._folder.child(f"{place}/{folder_name(after.name)}"), "", 1, 1)
        for bucket in range(buckets):
            share = old.store(bucket).load(state.batch_id, steps_of(replace(self._old, stages=(before,))))
            tables = dict(share.tables.get(before.name, {}))
            if after.name == before.name:
                tables = dict(self._tables(after, tables, changes))
            schema = share.schemas.get(before.name)
            if schema is not None:
                schema = _reshaped_schema(schema, before, after)
            new.settle_in(bucket, tables, schema, state.batch_id)

    def _clocks(self, clocks: Mapping[str, Clock]) -> dict[str, Clock]:
        """A watermark goes on from where it stands, whatever the delay is now: windows that have closed do not close again, and those
        that the new delay would have closed by now still close."""
        gone = {read.name for read in self._old.reads} - {read.name for read in self._new.reads}
        found = {name: clock for name, clock in clocks.items() if name not in gone}
        delays = {stage.name: stage.clock.delay for stage in self._old.stages if isinstance(stage, Read)}
        for stage in self._new.stages:
            if isinstance(stage, Read) and stage.name in found and stage.name in delays:
                found[stage.name] = _moved(found[stage.name], stage.clock.delay - delays[stage.name])
        return found

    def _counters(self, state: JobState) -> JobCounters:
        kept = {stage.name for stage in self._new.stages}
        found = state.counters.copy()
        found.stages = {self._goes_to(name): one for name, one in found.stages.items()}
        for name in list(found.stages):
            if name not in kept and name.rpartition("/")[0] not in kept:
                del found.stages[name]
        return found


def write_built(folder: Folder, state: JobState, job: Job, parts: tuple[str, str]) -> None:
    """State that was made anew, in the place of what would be carried over."""
    for place in parts:
        folder.remove(place)
    StateStore(folder.child(parts[0]), meanings=column_meanings(job)).snapshot(state)


def what_cannot_move(old: Job, new: Job, changes: list[Change], state: JobState) -> list[str]:
    """What only the state itself, or both plans together, can tell: a sentence for each obstacle."""
    found: list[str] = []
    own = [
        stage.name for stage in (*old.stages, *new.stages) if isinstance(stage, Aggregate) and stage.window is not None and _own_time(stage)
    ]
    if own and any(change.path == "watermark.delay_us" for change in changes):
        found.append(f"{own[0]} has a watermark of its own, which the delay of the source would move, too")
    stages = [stage for stage in new.stages if isinstance(stage, Aggregate)]
    for change in changes:
        after = next((stage for stage in stages if _is_of(change, stage.name)), None)
        if change.added_call is not None and after is not None and state.tables.get(having_name(after.name)):
            found.append(f"{after.name} remembers what HAVING let out, so no aggregate can be added to it")
    return found


def _own_time(stage: Aggregate) -> bool:
    return stage.time.has_own_watermark


def _is_of(change: Change, stage: str) -> bool:
    statement, _, part = stage.partition("/")
    return change.statement == f"statement {statement}" + (f" ({part})" if part else "")


def _known(before: Aggregate, after: Aggregate) -> Meanings:
    """What the new plan wants of what the old one has: the rest is added as NULL."""
    had = set(aggregate_meanings(before).values())
    return {name: meaning for name, meaning in aggregate_meanings(after).items() if meaning in had}


def _reshaped(frame: pl.DataFrame, before: Aggregate, after: Aggregate) -> pl.DataFrame:
    """A table of state with the columns of the new plan, found by what they mean."""
    table = frame.to_arrow()
    told = describe([table.schema], aggregate_meanings(before))
    known = pl.from_arrow(renaming(after.name, told, _known(before, after)).table(table))
    assert isinstance(known, pl.DataFrame)
    parts = [column for item in before.aggregates for column in part_names(item).values()]
    if not set(parts) & set(frame.columns):
        # What is known of emissions has keys and no parts.
        return known
    wanted = [column for item in after.aggregates for column in part_names(item).values()]
    return known.with_columns(pl.lit(None).alias(column) for column in wanted if column not in known.columns)


def _reshaped_schema(schema: pa.Schema, before: Aggregate, after: Aggregate) -> pa.Schema:
    """What rows come with: of a new aggregate no value has been seen, so its parts have no type yet."""
    known = renaming(after.name, describe([schema], aggregate_meanings(before)), _known(before, after)).schema(schema)
    wanted = [column for item in after.aggregates for column in part_names(item).values()]
    return pa.schema([*known, *(pa.field(column, pa.null()) for column in wanted if column not in known.names)])


def _moved(clock: Clock, by: int) -> Clock:
    low, anchor = (None if value is None else value + by for value in (clock.low, clock.anchor))
    return replace(clock, low=low, anchor=anchor)
