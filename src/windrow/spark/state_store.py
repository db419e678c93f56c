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
from windrow.spark.folders import Folder
from windrow.spark.job_state import Change, JobState, StepInput, having_name
from windrow.spark.state_file import TornFileError, decode, encode, frame_of
from windrow.windowing.clock import Clock
from windrow.windowing.columns import NEVER
from windrow.windowing.having import Panes
from windrow.windowing.step import Tick, WindowStep

_NAME = re.compile(r"^(\d{10})\.(change|snapshot)$")


@dataclass(frozen=True)
class Version:
    batch_id: int
    kind: str


class StateStore:
    """``stagger`` moves the batches at which snapshots are made, so that many stores do not all make theirs at once."""

    def __init__(self, folder: Folder, snapshot_every: int = 20, retain: int = 100, stagger: int = 0) -> None:
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
        tables = {name: given.rows for name, given in change.steps.items() if given.rows is not None}
        tables.update({having_name(name): given.verdicts for name, given in change.steps.items() if given.verdicts is not None})
        header = {
            "batch_id": change.batch_id,
            "is_end": is_end,
            "steps": steps,
            **_small_json(change.clocks, change.counters, change.ledger),
        }
        self._folder.write(_file_name(change.batch_id, "change"), encode(header, tables))

    def settle(self, state: JobState) -> None:
        """After a committed batch: a snapshot now and then, and let go of what is older than the versions kept."""
        if (state.batch_id + 1 + self._stagger) % self._snapshot_every:
            return
        self.snapshot(state)
        oldest = state.batch_id - self._retain
        snapshots = [v.batch_id for v in self.versions() if v.kind == "snapshot" and v.batch_id <= oldest]
        if snapshots:
            for version in self.versions():
                if version.batch_id < max(snapshots) or (version.batch_id == max(snapshots) and version.kind == "change"):
                    self._folder.remove(_file_name(version.batch_id, version.kind))

    def snapshot(self, state: JobState) -> None:
        tables: dict[str, pa.Table] = {}
        index: dict[str, list[str]] = {}
        for name, named in state.tables.items():
            for table_name, frame in named.items():
                key = f"t{len(index)}"
                index[key] = [name, table_name]
                tables[key] = frame.to_arrow()
        schemas = {name: base64.b64encode(schema.serialize().to_pybytes()).decode() for name, schema in state.schemas.items()}
        header = {"batch_id": state.batch_id, "index": index, "schemas": schemas, **_small_json(state.clocks, state.counters, state.ledger)}
        self._folder.write(_file_name(state.batch_id, "snapshot"), encode(header, tables))

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
            header, _ = decode(self._folder.read(_file_name(batch_id, "change")))
        except TornFileError:
            return False
        return bool(header["is_end"])

    def _read_snapshot(self, batch_id: int) -> JobState | None:
        try:
            header, tables = decode(self._folder.read(_file_name(batch_id, "snapshot")))
        except TornFileError:
            # An older snapshot and the changes after it give the same state.
            return None
        state = JobState(batch_id)
        for key, (name, table_name) in header["index"].items():
            state.tables[name] = {**state.tables.get(name, {}), table_name: frame_of(tables[key])}
        for name, text in header["schemas"].items():
            state.schemas[name] = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
        state.clocks, state.counters, state.ledger = _small_from(header)
        return state

    def _read_change(self, batch_id: int) -> Change:
        try:
            header, tables = decode(self._folder.read(_file_name(batch_id, "change")))
        except TornFileError as error:
            raise JobError(
                "WR812",
                f"the state file of batch {batch_id} in {self._folder.path} is damaged",
                "restore the folder from a backup, or start with a new --state folder",
            ) from error
        steps = {name: _step_from(name, data, tables) for name, data in header["steps"].items()}
        clocks, counters, ledger = _small_from(header)
        return Change(batch_id, steps, clocks, counters, ledger)


def _file_name(batch_id: int, kind: str) -> str:
    return f"{batch_id:010d}.{kind}"


def _step_json(given: StepInput) -> dict[str, Any]:
    tick = given.tick
    times = {"before": tick.before, "after": tick.after, "now": tick.now, "evicted": tick.evicted}
    return {**times, "kept_beyond": given.kept_beyond, "panes": given.panes.value}


def _step_from(name: str, data: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> StepInput:
    tick = Tick(data["before"], data["after"], data["now"], evicted=data.get("evicted", NEVER))
    return StepInput(tick, tables.get(name), tables.get(having_name(name)), data["kept_beyond"], Panes(data["panes"]))


def _small_json(clocks: Mapping[str, Clock], counters: Mapping[str, int], ledger: Ledger) -> dict[str, Any]:
    return {
        "clocks": {name: clock.to_json() for name, clock in clocks.items()},
        "counters": dict(counters),
        "ledger": ledger.to_json(),
    }


def _small_from(header: Mapping[str, Any]) -> tuple[dict[str, Clock], dict[str, int], Ledger]:
    clocks = {name: Clock.from_json(clock) for name, clock in header["clocks"].items()}
    return clocks, dict(header["counters"]), Ledger.from_json(header["ledger"])
