"""What a job's folder holds and whose it is: the names of its parts, and ``job.json``, which ties it to its statements."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import replace

from windrow.connectors.registry import CONNECTORS
from windrow.errors import UsageError
from windrow.plan.stages import Job, LoadTable, Read, Stage, Write
from windrow.spark.folders import Folder

STATE, BUCKETS, LETTERS, REPLAYS, NOTES, TABLES = "state", "buckets", "dead_letters", "replays", "notes", "tables"
CARD = "job.json"

_FORMAT = 2


def claim(folder: Folder, job: Job, *, has_begun: bool = True) -> str:
    """Take a folder for a job, new or as it was left; gives the id of the folder, which no other start of the job shares.

    State belongs to the statements that made it: another query must not read it as its own. A job that never came to its first
    batch has none (``has_begun``), and may be mended in any way.
    """
    fingerprint = hashlib.sha256(repr([_essence(stage) for stage in job.stages]).encode()).hexdigest()
    if CARD not in folder.names() or not has_begun:
        card = {"format": _FORMAT, "job": job.name, "fingerprint": fingerprint, "id": uuid.uuid4().hex}
        folder.write(CARD, json.dumps(card).encode())
        return str(card["id"])
    known = json.loads(folder.read(CARD))
    if known.get("format") != _FORMAT or "id" not in known:
        raise UsageError(
            "WR803", f"the state in {folder.path} was written by another version of Windrow", "start with a new --state folder"
        )
    if known["fingerprint"] != fingerprint:
        raise UsageError(
            "WR804",
            f"the state in {folder.path} belongs to other statements than those of job {job.name}: the file has changed since",
            "start with a new --state folder, or undo the change",
        )
    return str(known["id"])


def _essence(stage: Stage) -> Stage:
    """A stage without what may change from one run to the next: where a server is found, who asks it, how long it is waited for."""
    match stage:
        case Read():
            # What is decoded follows from all statements of the file, also from those of other jobs.
            stage = replace(stage, asked=None)
            specs = CONNECTORS[stage.connector].source or ()
        case Write():
            specs = CONNECTORS[stage.connector].sink or ()
        case LoadTable():
            read = _essence(stage.read)
            assert isinstance(read, Read)
            return replace(stage, read=read)
        case _:
            return stage
    free = {spec.key.lower() for spec in specs if spec.may_change or spec.is_secret}
    prefixes = tuple(key.removesuffix("*") for key in free if key.endswith(".*"))
    kept = tuple((key, value) for key, value in stage.options if key.lower() not in free and not key.lower().startswith(prefixes))
    return replace(stage, options=kept)


def count_restore(folder: Folder) -> None:
    """Note that a job is taken back: the numbers of its batches will come a second time."""
    card = json.loads(folder.read(CARD))
    folder.write(CARD, json.dumps({**card, "restores": card.get("restores", 0) + 1}).encode())


def restores_of(folder: Folder) -> int:
    return int(json.loads(folder.read(CARD)).get("restores", 0))


def card_id(folder: Folder) -> str:
    return str(json.loads(folder.read(CARD))["id"])
