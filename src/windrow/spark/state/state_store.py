"""Durable state: one change file a batch, a snapshot every so many, named by batch id.

Writing batch n twice writes the same file twice. Loading takes the newest snapshot not beyond the wanted batch and replays the
changes after it through the same pure steps.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import JobError
from windrow.observe.ledger import Ledger
from windrow.observe.row_metrics import Totals, totals_from, totals_json
from windrow.spark.state.columns import Meanings, Renaming, describe, renaming
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import Change, JobState, StepInput, having_name, stage_of
from windrow.spark.state.state_file import TornFileError, decode, encode, frame_of
from windrow.storage import Files
from windrow.windowing.clock import Clock
from windrow.windowing.having import Panes
from windrow.windowing.step import BatchTime, WindowStep

# What a table of a file is: what a step was given, what its state or that of its HAVING is.
_INPUT, _STEP, _HAVING = "input", "step", "having"
_ROWS, _VERDICTS = "rows", "verdicts"
_NAME = re.compile(r"^(\d{10})\.(change|snapshot)$")


@dataclass(frozen=True)
class Version:
    batch_id: int
    kind: str


class StateStore:
    """``stagger`` moves the batches at which snapshots are made, so that many stores do not all make theirs at once.

    ``meanings`` says what the columns of each stage's state mean in the present plan: saved columns are found by it.
    """

    def __init__(
        self,
        folder: Files,
        snapshot_every: int = 20,
        retain: int = 100,
        stagger: int = 0,
        meanings: Mapping[str, Meanings] | None = None,
    ) -> None:
        self._meanings = meanings or {}
        self._folder = folder
        self._snapshot_every = snapshot_every
        self._retain = retain
        self._stagger = stagger

    def versions(self) -> list[Version]:
        found = (_NAME.match(name) for name in self._folder.names())
        return sorted((Version(int(m[1]), m[2]) for m in found if m), key=lambda v: (v.batch_id, v.kind))

    def save(self, change: Change, *, is_end: bool = False) -> None:
        """Make a batch's change durable. After this returns, the batch cannot be lost. The end of the input is the last change."""
        steps = {name: _step_json(given) for name, given in change.steps.items()}
        saved = _Saved(self._meanings)
        for name, given in change.steps.items():
            if given.rows is not None:
                saved.add(name, _INPUT, _ROWS, given.rows)
            if given.verdicts is not None:
                saved.add(name, _INPUT, _VERDICTS, given.verdicts)
        small = _small_json(change)
        header = {"batch_id": change.batch_id, "is_end": is_end, "steps": steps, **saved.header(), **small}
        self._folder.replace_atomically(_file_name(change.batch_id, "change"), encode(header, saved.tables))

    def settle(self, state: JobState) -> None:
        """After a committed batch: a snapshot now and then, and let go of what is older than the versions kept."""
        if not self.is_snapshot_due(state.batch_id):
            return
        self.snapshot(state)
        oldest = state.batch_id - self._retain
        snapshots = [v.batch_id for v in self.versions() if v.kind == "snapshot" and v.batch_id <= oldest]
        if snapshots:
            for version in self.versions():
                if version.batch_id < max(snapshots) or (version.batch_id == max(snapshots) and version.kind == "change"):
                    self._folder.remove(_file_name(version.batch_id, version.kind))

    def is_snapshot_due(self, batch_id: int) -> bool:
        return (batch_id + 1 + self._stagger) % self._snapshot_every == 0

    def snapshot(self, state: JobState) -> None:
        saved = _Saved(self._meanings)
        for name, named in state.tables.items():
            stage, is_having = stage_of(name)
            for table_name, frame in named.items():
                saved.add(stage, _HAVING if is_having else _STEP, table_name, frame.to_arrow())
        inputs = {name: base64.b64encode(schema.serialize().to_pybytes()).decode() for name, schema in state.schemas.items()}
        for name, schema in state.schemas.items():
            saved.tell(name, schema)
        small = _small_json(state)
        header = {"batch_id": state.batch_id, "input_schemas": inputs, **saved.header(), **small}
        self._folder.replace_atomically(_file_name(state.batch_id, "snapshot"), encode(header, saved.tables))

    def load(self, up_to: int, steps: Mapping[str, WindowStep], since: JobState | None = None) -> JobState:
        """The state after batch ``up_to`` (-1: the beginning), brought up from an earlier one if that is at hand."""
        if since is not None and since.batch_id == up_to:
            return since
        versions = self.versions()
        state = since or self._newest_snapshot([v.batch_id for v in versions if v.kind == "snapshot" and v.batch_id <= up_to])
        changes = {v.batch_id for v in versions if v.kind == "change"}
        for batch_id in range(state.batch_id + 1, up_to + 1):
            if batch_id not in changes:
                raise JobError(
                    "WR811",
                    f"the state of batch {batch_id} is missing in {self._folder.path}",
                    "restore the folder from a backup, or start with a new --state folder",
                )
            state.replay(self._read_change(batch_id), steps)
        return state

    def _newest_snapshot(self, batch_ids: list[int]) -> JobState:
        for batch_id in sorted(batch_ids, reverse=True):
            found = self._read_snapshot(batch_id)
            if found is not None:
                return found
        return JobState()

    def forget_after(self, batch_id: int, *, with_end: bool = False) -> None:
        """Remove versions beyond the last committed batch, whose batch will run again; the end of the input stays if not told otherwise."""
        for version in self.versions():
            if version.batch_id > batch_id and (with_end or not self.has_end(version.batch_id)):
                self._folder.remove(_file_name(version.batch_id, version.kind))

    def has_end(self, batch_id: int) -> bool:
        """Whether this batch is the end of a bounded input: the job has nothing more to do."""
        if Version(batch_id, "change") not in self.versions():
            return False
        try:
            header, _ = self._decoded(batch_id, "change")
        except TornFileError:
            return False
        return bool(header["is_end"])

    def _read_snapshot(self, batch_id: int) -> JobState | None:
        try:
            header, tables = self._decoded(batch_id, "snapshot")
        except TornFileError:
            # An older snapshot and the changes after it give the same state.
            return None
        state = JobState(batch_id)
        renamings = self._renamings(header)
        for key, told in header["tables"].items():
            name = having_name(told["stage"]) if told["holds"] == _HAVING else told["stage"]
            frame = frame_of(renamings[told["stage"]].table(tables[key]))
            state.tables[name] = {**state.tables.get(name, {}), told["table"]: frame}
        for name, text in header["input_schemas"].items():
            state.schemas[name] = renamings[name].schema(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))))
        state.clocks, state.counters, state.ledger, state.metrics = _small_from(header)
        return state

    def _read_change(self, batch_id: int) -> Change:
        try:
            header, tables = self._decoded(batch_id, "change")
        except TornFileError as error:
            raise JobError(
                "WR812",
                f"the state file of batch {batch_id} in {self._folder.path} is damaged",
                "restore the folder from a backup, or start with a new --state folder",
            ) from error
        renamings = self._renamings(header)
        inputs: dict[tuple[str, str], pa.Table] = {}
        for key, told in header["tables"].items():
            inputs[told["stage"], told["table"]] = renamings[told["stage"]].table(tables[key])
        steps = {name: _step_from(data, inputs.get((name, _ROWS)), inputs.get((name, _VERDICTS))) for name, data in header["steps"].items()}
        return Change(batch_id, steps, *_small_from(header))

    def _decoded(self, batch_id: int, kind: str) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        name = _file_name(batch_id, kind)
        return decode(self._folder.read(name), f"the state file {name} in {self._folder.path}")

    def _renamings(self, header: Mapping[str, Any]) -> dict[str, Renaming]:
        return {stage: renaming(stage, columns, self._meanings.get(stage, {})) for stage, columns in header["columns"].items()}


class _Saved:
    """Tables on their way into a file, with what is said of them: whose each is, and what its columns mean."""

    def __init__(self, meanings: Mapping[str, Meanings]) -> None:
        self._meanings = meanings
        self._index: dict[str, dict[str, str]] = {}
        self._schemas: dict[str, list[pa.Schema]] = {}
        self.tables: dict[str, pa.Table] = {}

    def add(self, stage: str, holds: str, name: str, table: pa.Table) -> None:
        key = f"t{len(self._index)}"
        self._index[key] = {"stage": stage, "holds": holds, "table": name}
        self.tables[key] = table
        self.tell(stage, table.schema)

    def tell(self, stage: str, schema: pa.Schema) -> None:
        self._schemas.setdefault(stage, []).append(schema)

    def header(self) -> dict[str, Any]:
        columns = {stage: describe(schemas, self._meanings.get(stage, {})) for stage, schemas in self._schemas.items()}
        return {"tables": self._index, "columns": columns}


def _file_name(batch_id: int, kind: str) -> str:
    return f"{batch_id:010d}.{kind}"


def _step_json(given: StepInput) -> dict[str, Any]:
    tick = given.tick
    times = {"before": tick.before, "after": tick.after, "now": tick.now, "evicted": tick.evicted}
    return {**times, "retention_bound": given.retention_bound, "panes": given.panes.value}


def _step_from(data: Mapping[str, Any], rows: pa.Table | None, verdicts: pa.Table | None) -> StepInput:
    tick = BatchTime(data["before"], data["after"], data["now"], evicted=data["evicted"])
    return StepInput(tick, rows, verdicts, data["retention_bound"], Panes(data["panes"]))


def _small_json(of: Change | JobState) -> dict[str, Any]:
    return {
        "clocks": {name: clock.to_json() for name, clock in of.clocks.items()},
        "counters": of.counters.to_json(),
        "ledger": of.ledger.to_json(),
        **({"metrics": totals_json(of.metrics)} if of.metrics else {}),
    }


def _small_from(header: Mapping[str, Any]) -> tuple[dict[str, Clock], JobCounters, Ledger, Totals]:
    clocks = {name: Clock.from_json(clock) for name, clock in header["clocks"].items()}
    # Jobs without metrics have none, nor has what was saved before there were any.
    metrics = totals_from(header.get("metrics", {}))
    return clocks, JobCounters.from_json(header["counters"]), Ledger.from_json(header["ledger"]), metrics
