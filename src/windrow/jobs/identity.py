"""What a job's folder holds and whose it is: the names of its parts, and ``job.json``, which ties it to its statements."""

from __future__ import annotations

import hashlib
import json
import uuid

from windrow.errors import UsageError
from windrow.plan.stages import Job
from windrow.spark.folders import Folder

STATE, BUCKETS, LETTERS, REPLAYS = "state", "buckets", "dead_letters", "replays"
CARD = "job.json"

_FORMAT = 1


def claim(folder: Folder, job: Job) -> str:
    """Take a folder for a job, new or as it was left; gives the id of the folder, which no other start of the job shares.

    State belongs to the statements that made it: another query must not read it as its own.
    """
    fingerprint = hashlib.sha256(repr(job.stages).encode()).hexdigest()
    if CARD not in folder.names():
        card = {"format": _FORMAT, "job": job.name, "fingerprint": fingerprint, "id": uuid.uuid4().hex}
        folder.write(CARD, json.dumps(card).encode())
        return card_id(folder)
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
    return card_id(folder)


def count_restore(folder: Folder) -> None:
    """Note that a job is taken back: the numbers of its batches will come a second time."""
    card = json.loads(folder.read(CARD))
    folder.write(CARD, json.dumps({**card, "restores": card.get("restores", 0) + 1}).encode())


def restores_of(folder: Folder) -> int:
    return int(json.loads(folder.read(CARD)).get("restores", 0))


def card_id(folder: Folder) -> str:
    return str(json.loads(folder.read(CARD))["id"])
