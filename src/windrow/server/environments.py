"""Which environments are protected, and the flags that hold, in a file beside the folders of jobs.

A registry that is lost or set back must not open what was closed: of what it says and what the file says, the more careful holds. Where
neither says anything of an environment that has jobs, it is protected until somebody who may says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from windrow.server.books import Books
from windrow.server.job_folders import job_folders, read_note, write_private

FILE = "environments.json"
_ONE_AT_A_TIME = Lock()


def note_environments(root: Path, books: Books, more: Mapping[str, bool] | None = None) -> None:
    """What the registry says now; ``more`` is what it is about to say."""
    with _ONE_AT_A_TIME:
        known = {one.name: one.is_protected for one in books.environments()} | dict(more or {})
        flags = [[one.name, one.env, one.value, one.is_secret, one.author] for one in books.present_flags()]
        root.mkdir(parents=True, exist_ok=True)
        write_private(root / FILE, json.dumps({"environments": known, "flags": flags}))


def find_environments(root: Path, books: Books) -> list[str]:
    """Takes what the file says into the registry; gives the environments that are protected by it and were not before."""
    path = root / FILE
    note = read_note(path)
    known = {one.name: one.is_protected for one in books.environments()}
    said: dict[str, Any] = note.get("environments", {}) if isinstance(note.get("environments", {}), dict) else {}
    is_spoiled = path.exists() and not isinstance(note.get("environments"), dict)
    used = {folder.env for folder in job_folders(root) if folder.env}
    closed = []
    for name in sorted(used | set(said) | set(known)):
        is_protected = bool(said.get(name)) or known.get(name, False) or is_spoiled or (name not in said and name not in known)
        if known.get(name) is not is_protected:
            books.put_environment(name, is_protected=is_protected)
            closed += [name] if is_protected else []
    have = {(one.name, one.env) for one in books.present_flags()}
    for name, env, value, is_secret, author in note.get("flags", ()):
        if (name, env) not in have and value is not None:
            books.set_flag(name, env, value, author, is_secret=is_secret)
    if known or said or used:
        note_environments(root, books)
    return closed
