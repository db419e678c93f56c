"""What a job's folder holds and whose it is: the names of its parts, and ``job.json``, which ties it to its statements."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import replace
from typing import TypeVar

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.errors import UsageError
from windrow.plan.stages import Job, LoadTable, Read, Stage, Write
from windrow.spark.folders import Folder

STATE, BUCKETS, LETTERS, TABLES = "state", "buckets", "dead_letters", "tables"
CARD = "job.json"

_FORMAT = 1
StageWithOptions = TypeVar("StageWithOptions", Read, Write)


def claim(folder: Folder, job: Job) -> str:
    """Take a folder for a job, new or as it was left; gives the id of the folder, which no other start of the job shares.

    State belongs to the statements that made it: another query must not read it as its own.
    """
    fingerprint = hashlib.sha256(repr(tuple(map(_without_secrets, job.stages))).encode()).hexdigest()
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


def _without_secrets(stage: Stage) -> Stage:
    """A new password does not make other statements of them."""
    match stage:
        case LoadTable(read=read):
            return replace(stage, read=_public(read))
        case Read():
            return _public(stage)
        case Write():
            return _public(stage)
        case _:
            return stage


def _public(stage: StageWithOptions) -> StageWithOptions:
    spec: ConnectorSpec = CONNECTORS[stage.connector]
    secret = {option.key for option in (*(spec.source or ()), *(spec.sink or ())) if option.is_secret}
    return replace(stage, options=tuple(entry for entry in stage.options if entry[0] not in secret))


def card_id(folder: Folder) -> str:
    return str(json.loads(folder.read(CARD))["id"])
