"""The past of a job, read from its state folder without Spark: versions of the state, what was open in one, and the way back to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.jobs.batch_records import BatchRecordLog
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.connector_loader import connector_of
from windrow.jobs.cut_overs import as_it_runs
from windrow.jobs.identity import CARD, LETTERS, RECORDS, REPLAYS, TABLES, card_id, count_restore, state_parts, unjudged_card
from windrow.jobs.replays import ReplayLog
from windrow.jobs.state_folder import state_folder
from windrow.jobs.writer_choice import spill_folder
from windrow.plan.explain_joins import as_written
from windrow.plan.stages import Aggregate, Job, LookupJoin, OverAggregate, Read, StreamJoin, UpsertTable, Write
from windrow.spark.operators.join_sides import side_names
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.operators.stream_join import side_steps
from windrow.spark.state.buckets import BucketWork, answered
from windrow.spark.state.job_state import JobState
from windrow.spark.state.state_file import TornFileError, decode, frame_of
from windrow.spark.state.state_store import StateStore
from windrow.spark.tables.versions import TableVersions
from windrow.sql.render import render_expr
from windrow.storage import Folder, folder_name
from windrow.storage.lease import Lease
from windrow.windowing.clock import Clock
from windrow.windowing.columns import COUNT, END, START
from windrow.windowing.step import BatchTime, StepResult, Tables, WindowStep

# Stages that keep something between two batches.
Keeping = Aggregate | OverAggregate | StreamJoin | UpsertTable | LookupJoin


@dataclass(frozen=True)
class JobVersion:
    """The state after one batch. ``can_restore`` is false where Spark no longer knows how far the sources had been read."""

    batch_id: int
    files: tuple[str, ...]
    bytes: int
    written_at: float
    watermark: int | None
    rows_in: int
    can_restore: bool
    is_end: bool


@dataclass(frozen=True)
class OpenState:
    """What one statement holds. ``windows`` has its group's keys (under the names the statement gives them), bounds and count."""

    statement: str
    home: str
    windows: pl.DataFrame | None
    bytes: int


@dataclass(frozen=True)
class StepTaken:
    """What the step of a stage was told of time in one batch, and what it emitted, before HAVING."""

    batch_id: int
    tick: BatchTime
    emissions: pl.DataFrame | None


class _SeenStep:
    """A step that remembers what it gave."""

    def __init__(self, step: WindowStep) -> None:
        self._step = step
        self.tick: BatchTime | None = None
        self.emissions: pl.DataFrame | None = None

    def step(self, state: Tables, rows: pl.DataFrame | None, tick: BatchTime) -> StepResult:
        result = self._step.step(state, rows, tick)
        self.tick, self.emissions = tick, result.emissions
        return result

    def open_windows(self, state: Tables) -> pl.DataFrame | None:
        return self._step.open_windows(state)


class JobHistory:
    """One job's folder. Writing methods hold the job's lease, so they are refused while it runs."""

    def __init__(self, job: Job, place: str | Path | Folder) -> None:
        state = state_folder(place)
        self.folder = state.child(folder_name(job.name))
        if not self.folder.exists(CARD):
            hint = "run it first, or name its folder with --state"
            raise UsageError("WR621", f"there is no state of job {job.name} in {state.path}", hint)
        self.job = as_it_runs(job, self.folder, unjudged_card(self.folder))
        self._checkpoint = Checkpoint(self.folder)
        self._state, self._buckets = state_parts(self.folder)
        self._store = StateStore(self.folder.child(self._state), meanings=column_meanings(self.job))
        self._steps = steps_of(self.job)
        self.replays = ReplayLog(self.folder.child(REPLAYS))

    @property
    def is_ended(self) -> bool:
        """Whether the input was declared ended."""
        return self._store.has_end(self._checkpoint.last_committed() + 1)

    def versions(self) -> list[JobVersion]:
        """Newest first."""
        by_batch: dict[int, list[str]] = {}
        for version in self._store.versions():
            by_batch.setdefault(version.batch_id, []).append(version.kind)
        known = self._checkpoint.restorable()
        return [self._version(batch, tuple(kinds), known) for batch, kinds in sorted(by_batch.items(), reverse=True)]

    def _version(self, batch_id: int, kinds: tuple[str, ...], known: set[int]) -> JobVersion:
        folder = self.folder.child(self._state)
        names = [f"{batch_id:010d}.{kind}" for kind in kinds]
        found = [folder.status(name) for name in names]
        try:
            header, _ = decode(folder.read(names[0]), f"the state file {names[0]} in {folder.path}")
        except TornFileError:
            header = {}
        marks = [_watermark(header, read) for read in self.job.reads] if header else []
        least = min((mark for mark in marks if mark is not None), default=None) if None not in marks else None
        sources = header.get("ledger", {}).get("sources", {}).values()
        return JobVersion(
            batch_id,
            kinds,
            sum(status.size for status in found),
            max(status.modified for status in found),
            least,
            sum(source.get("rows_in", 0) for source in sources),
            batch_id in known and bool(header),
            bool(header.get("is_end")),
        )

    def load(self, batch_id: int | None) -> JobState:
        """The state after a batch; the newest if none is named."""
        versions = self._store.versions()
        if not versions:
            return JobState()
        newest = max(version.batch_id for version in versions)
        wanted = newest if batch_id is None else batch_id
        if wanted > newest or wanted < min(version.batch_id for version in versions):
            raise self._no_version(wanted)
        return self._store.load(wanted, self._steps)

    def open_state(self, batch_id: int | None) -> tuple[int, list[OpenState]]:
        """What each statement held after a batch, and which batch that was."""
        state = self.load(batch_id)
        keeping = [stage for stage in self.job.stages if isinstance(stage, Keeping)]
        waits = [stage for stage in keeping if not isinstance(stage, LookupJoin) or stage.retry_for is not None]
        return state.batch_id, [self._held_by(stage, state) for stage in waits]

    def _held_by(self, stage: Keeping, state: JobState) -> OpenState:
        buckets = state.counters.buckets(stage.name)
        if isinstance(stage, Aggregate) and buckets is not None:
            return self._held_by_executors(stage, buckets, state.batch_id)
        names = [name for name in ([stage.name] if not isinstance(stage, StreamJoin) else side_steps(stage)) if name in self._steps]
        parts = {name: self._steps[name].open_windows(state.tables.get(name, {})) for name in names}
        size = sum(table.estimated_size() for name in names for table in state.tables.get(name, {}).values())
        there = [_named(stage, part, name) for name, part in parts.items() if part is not None and part.height]
        return OpenState(stage.name, "driver", pl.concat(there, how="diagonal_relaxed") if there else None, int(size))

    def _held_by_executors(self, stage: Aggregate, buckets: int, batch_id: int) -> OpenState:
        work = BucketWork(stage, self.folder.child(f"{self._buckets}/{folder_name(stage.name)}"), "", 1, 1)
        parts, size = [], 0
        for bucket in range(buckets):
            header, tables = answered(work.open_windows(bucket, batch_id))
            size += header["bytes"]
            if "windows" in tables:
                parts.append(_named(stage, frame_of(tables["windows"]), stage.name))
        return OpenState(stage.name, f"executors, {buckets} buckets", pl.concat(parts, how="diagonal_relaxed") if parts else None, size)

    def steps_taken(self, stage: str) -> Iterator[StepTaken]:
        """The steps of a stage in every kept batch, taken again: what it emitted is written down nowhere else."""
        versions = self._store.versions()
        snapshots = [version.batch_id for version in versions if version.kind == "snapshot"]
        changes = sorted(version.batch_id for version in versions if version.kind == "change")
        first = -1 if changes[:1] == [0] else min(snapshots, default=None)
        if first is None:
            return
        state = self._store.load(first, self._steps)
        for batch_id in (each for each in changes if each > first):
            seen = _SeenStep(self._steps[stage])
            state = self._store.load(batch_id, {**self._steps, stage: seen}, since=state)
            if seen.tick is not None:
                yield StepTaken(batch_id, seen.tick, seen.emissions)

    def lasting(self) -> list[str]:
        """What going back cannot undo, a sentence for each output that says so."""
        told = (connector_of(write.connector).what_stays(self._request(write)) for write in self.job.writes)
        return [what_stays for what_stays in told if what_stays is not None]

    def _request(self, write: Write) -> SinkRequest:
        return SinkRequest(write.input, dict(write.options), card_id(self.folder), write.columns, write.key)

    def reached(self) -> dict[int, list[dict[str, Any]]]:
        """How far each source had been read after every batch that a job can be taken back to."""
        return {batch: self._checkpoint.offsets_of(batch) for batch in sorted(self._checkpoint.restorable())}

    def restore(self, batch_id: int) -> int:
        """Take the job back to where it stood after a batch; the rows after it will be read again. Gives the number of batches undone."""
        lease = Lease(self.folder, self.job.name)
        try:
            if batch_id not in self._checkpoint.restorable():
                raise self._no_version(batch_id)
            self.load(batch_id)
            undone = self._checkpoint.last_committed() - batch_id
            # What readers see goes first: should this stop halfway, the batches are still there to be taken back again.
            self.forget_outputs(batch_id)
            count_restore(self.folder)
            forget_notes(self.folder, self.job, batch_id)
            self._checkpoint.go_back_to(batch_id)
            forget_state(self.folder, (self._state, self._buckets), batch_id)
            return undone
        finally:
            lease.release()

    def forget_outputs(self, batch_id: int) -> None:
        """Take back what was written after a batch, as far as the outputs can."""
        for write in self.job.writes:
            connector_of(write.connector).forget_after(self._request(write), batch_id)
            spill_folder(self.folder, write.input).forget_after(batch_id)

    def _no_version(self, batch_id: int) -> UsageError:
        known = sorted(self._checkpoint.restorable())
        there = f"{known[0]} to {known[-1]}" if known else "none"
        return UsageError(
            "WR815",
            f"job {self.job.name} keeps no state of batch {batch_id}",
            f"kept and complete: {there}; see windrow state list",
        )


def misfits(job: Job, folder: Folder) -> list[str]:
    """What systems outside would refuse of the outputs of a job, a sentence for each."""
    found = []
    for write in job.writes:
        request = SinkRequest(write.input, dict(write.options), card_id(folder), write.columns, write.key)
        why = connector_of(write.connector).misfit(request)
        found += [] if why is None else [f"output of {write.input}: {why}"]
    return found


def forget_notes(folder: Folder, job: Job, batch_id: int) -> None:
    """Dead letters, records, replays and loads of tables of the batches after one."""
    _forget_files(folder.child(LETTERS), batch_id)
    BatchRecordLog(folder.child(RECORDS)).go_back_to(batch_id)
    ReplayLog(folder.child(REPLAYS)).forget_after(batch_id)
    versions = TableVersions(folder.child(TABLES))
    for table in job.tables:
        versions.forget_after(table.name, batch_id)


def forget_state(folder: Folder, parts: tuple[str, str], batch_id: int) -> None:
    """The state of the batches after one, in the driver and with the executors."""
    state, buckets = folder.child(parts[0]), folder.child(parts[1])
    StateStore(state).forget_after(batch_id, with_end=True)
    for place in (f"{stage}/{bucket}" for stage in buckets.entries() for bucket in buckets.entries(stage)):
        StateStore(buckets.child(place)).forget_after(batch_id, with_end=True)


def _named(stage: Keeping, windows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Group keys under the text they were written as. Rows that wait on the two sides of a join are told apart."""
    if isinstance(stage, StreamJoin):
        is_left = name == side_names(stage)[0]
        side = (stage.left if is_left else stage.right).input
        keys = [pl.col(f"_j{i}").alias(as_written(left)) for i, (left, _) in enumerate(stage.keys)]
        return windows.select(pl.lit(side).alias("waits"), *keys, START, END, COUNT)
    if not isinstance(stage, Aggregate):
        return windows
    named = {key: render_expr(expr) for key, expr in stage.keys}
    return windows.select(*(pl.col(key).alias(text) for key, text in named.items()), START, END, COUNT)


def _forget_files(folder: Folder, batch_id: int) -> None:
    for name in folder.names():
        number = name.removeprefix("batch-").split(".")[0]
        if number.isdigit() and int(number) > batch_id:
            folder.remove(name)


def _watermark(header: Mapping[str, Any], read: Read) -> int | None:
    clock = header["clocks"].get(read.name)
    return None if clock is None else Clock.from_json(clock).watermark(read.clock.delay)
