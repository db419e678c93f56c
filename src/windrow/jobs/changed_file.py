"""A file that has changed since its state was made: found by the names of the jobs that have state beside those it has now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from windrow.errors import UsageError
from windrow.jobs.identity import CARD
from windrow.plan.job_names import outputs_of
from windrow.plan.stages import Job
from windrow.storage import Folder, StorageError

_HINT = "undo the change, or start with a new --state folder"


@dataclass(frozen=True)
class KnownJob:
    """A job that has a folder. ``has_begun``: it has come to its first batch."""

    name: str
    folder: str
    has_begun: bool


def known_jobs(state: Folder, has_begun: Callable[[Folder], bool]) -> list[KnownJob]:
    """Every job that has a folder below a state folder."""
    names = [name for name in sorted(state.entries()) if state.exists(f"{name}/{CARD}")] if state.exists("") else []
    return [KnownJob(_job_name(state.child(name), name), state.child(name).path, has_begun(state.child(name))) for name in names]


def refuse_changed_file(known: Iterable[KnownJob], jobs: tuple[Job, ...], file: str | None) -> None:
    """Refuse to begin a job anew over the outputs of one that has state: until changes are supported, the file must be as it was.

    What changed inside a job that kept its name is for its own folder to say.
    """
    begun = [one for one in known if one.has_begun]
    now = {job.name for job in jobs}
    gone = [one for one in begun if one.name not in now and _is_of(one, jobs, file)]
    if gone:
        before = ", ".join(f"{one.name} (in {one.folder})" for one in gone)
        says = "there is state of jobs that it does not have any more" if file is None or _is_named_after(gone[0], file) else _BY_OUTPUTS
        raise UsageError("WR804", f"the file has changed since its state was made: {says}: {before}; it has {_told(jobs)}", _HINT)
    there = {one.name for one in known}
    new = [job for job in jobs if job.name not in there]
    if file is not None and new and any(_is_named_after(one, file) for one in begun):
        raise UsageError("WR804", f"the file has changed since its state was made: new in it is {_told(new)}", _HINT)


_BY_OUTPUTS = "there is state from when jobs were named after their statements"


def _is_of(one: KnownJob, jobs: tuple[Job, ...], file: str | None) -> bool:
    """Whether a job with state is of this file: by its name, or, where it is named after its outputs, by these."""
    if file is not None and _is_named_after(one, file):
        return True
    outputs = {name for job in jobs for name in outputs_of(job)}
    return bool(outputs & set(one.name.split("+")))


def _is_named_after(one: KnownJob, file: str) -> bool:
    return one.name == file or one.name.startswith(f"{file}.")


def _told(jobs: Iterable[Job]) -> str:
    return ", ".join(f"{job.name} with {' and '.join(outputs_of(job))}" for job in jobs)


def _job_name(folder: Folder, name: str) -> str:
    try:
        return str(json.loads(folder.read(CARD))["job"])
    except (StorageError, ValueError, KeyError, TypeError):
        return name
