"""A rollback under way. It is noted before its first step, so that whoever comes next completes what a crash has cut short."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from windrow.errors import UsageError
from windrow.storage import Folder

_FILE = "rollback.json"


@dataclass(frozen=True)
class PendingRollback:
    """Back to version ``to``, as it stood after ``batch``. ``card`` is the ``job.json`` that is written at the end."""

    to: int
    batch: int
    card: dict[str, Any]


def note_rollback(folder: Folder, rollback: PendingRollback) -> None:
    folder.replace_atomically(_FILE, json.dumps(asdict(rollback), ensure_ascii=False).encode())


def pending_rollback(folder: Folder) -> PendingRollback | None:
    return PendingRollback(**json.loads(folder.read(_FILE))) if folder.exists(_FILE) else None


def forget_rollback(folder: Folder) -> None:
    folder.remove(_FILE)


def refuse_unfinished_rollback(folder: Folder, job: str) -> None:
    """What a crash has cut short is completed by the command that began it: only that knows what the job was."""
    if pending_rollback(folder) is not None:
        raise UsageError("WR674", f"job {job} is being rolled back, and that was cut short", "windrow rollback FILE completes it")
