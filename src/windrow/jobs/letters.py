"""Reading back the dead letters of jobs from their state folder, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.errors import JobError, UsageError
from windrow.jobs.identity import CARD, LETTERS, REPLAYS
from windrow.jobs.replays import ReplayLog
from windrow.jobs.state_folder import state_folder
from windrow.spark.execution.dead_letters import SCHEMA
from windrow.storage import Folder, StorageError
from windrow.storage.parquet import read_parquet

WAITING = "waiting"


@dataclass(frozen=True)
class LetterFilter:
    """Which letters are meant; what is empty admits all. ``by`` names a source or a statement."""

    ids: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    by: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    # Those that were replayed as well.
    with_replayed: bool = False
    # Only those of this rule.
    rule: str | None = None
    # In a replay: those that a rule holds for review as well.
    with_held: bool = False

    def admits(self, letter: Mapping[str, Any]) -> bool:
        arrived = letter["arrived_at"]
        return (
            (not self.ids or letter["id"] in self.ids)
            and (not self.codes or letter["code"] in self.codes)
            and (self.by is None or self.by.lower() in _makers(letter))
            and (self.since is None or (arrived is not None and arrived >= self.since))
            and (self.until is None or (arrived is not None and arrived < self.until))
            and (self.with_replayed or letter["replay"] is None)
            and (self.rule is None or self.rule.lower() == (letter["rule"] or "").lower())
        )


def _makers(letter: Mapping[str, Any]) -> set[str]:
    """The source and the statement of a letter, with the statement that a part of it belongs to."""
    statement = (letter["statement"] or "").lower()
    return {statement, statement.partition("/")[0], letter["source"].lower()}


EVERY = LetterFilter(with_replayed=True)


@dataclass(frozen=True)
class JobLetters:
    """The dead letters of one job, oldest batch first; each a record of ``windrow.spark.execution.dead_letters.SCHEMA``.

    ``replay`` is beside them: None, or the batch that took the letter once more, or that it waits for one.
    """

    job: str
    folder: str
    records: tuple[dict[str, Any], ...]

    def meant_by(self, wanted: LetterFilter) -> tuple[dict[str, Any], ...]:
        return tuple(record for record in self.records if wanted.admits(record))


def read_letters(place: str | Path | Folder) -> list[JobLetters]:
    """Every job below a state folder, with its dead letters. The folder of one job is taken too."""
    state = state_folder(place)
    try:
        inside = [name for name in state.entries() if state.exists(f"{name}/{CARD}")]
        folders = [state] if state.exists(CARD) else [state.child(name) for name in inside]
    except StorageError as error:
        raise UsageError("WR801", f"cannot read the folder {state.path}: {error.reason}", "check its permissions: ls -ld") from error
    return [JobLetters(_job_name(folder), folder.child(LETTERS).path, tuple(_records(folder))) for folder in folders]


def write_parquet(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Letters of any jobs as one file, each with its job."""
    pairs = [{**record, "headers": None if record["headers"] is None else list(record["headers"].items())} for record in records]
    pq.write_table(pa.Table.from_pylist(pairs, schema=SCHEMA.insert(0, pa.field("job", pa.string()))), path)


def _job_name(folder: Folder) -> str:
    try:
        return str(json.loads(folder.read(CARD))["job"])
    except (StorageError, ValueError, KeyError):
        return folder.path.rpartition("/")[2]


def _records(folder: Folder) -> list[dict[str, Any]]:
    replays = _replays(folder)
    unknown = dict.fromkeys(SCHEMA.names)
    records: list[dict[str, Any]] = []
    letters = folder.child(LETTERS)
    for name in letters.names():
        if not name.endswith(".parquet"):
            continue
        try:
            found = read_parquet(letters.read(name)).to_pylist(maps_as_pydicts="lossy")
            records += ({**unknown, **record} for record in found)
        except (OSError, StorageError, pa.ArrowException) as error:
            reason = error.reason if isinstance(error, StorageError) else str(error).splitlines()[0]
            hint = "the other files can be read with any reader of Parquet"
            raise JobError("WR814", f"cannot read the dead letters in {letters.path}/{name}: {reason}", hint) from error
    return [{**record, "replay": replays.get(record["id"])} for record in records]


def _replays(folder: Folder) -> dict[str, int | str]:
    log = ReplayLog(folder.child(REPLAYS))
    return {**dict.fromkeys(log.asked(), WAITING), **log.taken()}
