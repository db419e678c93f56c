"""What the jobs of a file are called: after the file, so that a job keeps its name, and with it its state, when statements change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from windrow.model.statement import Script
from windrow.plan.stages import Job, LateRows, LoadTable, Read, Write

_KEYS = ("name", "app")


def file_name(script: Script) -> str | None:
    """What a file calls itself (``-- @name: x``, else ``-- @app: x``), else the stem of its path; None for a text that is no file."""
    for key in _KEYS:
        for statement in script.statements:
            for annotation in statement.annotations:
                if annotation.key.lower() == key and annotation.value:
                    return annotation.value
    path = PurePath(script.source.name)
    return path.stem if path.suffix and not script.source.name.startswith("<") else None


def name_jobs(jobs: Sequence[Job], file: str | None) -> tuple[Job, ...]:
    """One job has the name of its file; of several, each has that of its first output after it. Without a file, outputs name a job."""
    if file is None:
        return tuple(jobs)
    if len(jobs) == 1:
        return (replace(jobs[0], name=file),)
    return tuple(replace(job, name=f"{file}.{outputs_of(job)[0]}") for job in jobs)


def outputs_of(job: Job) -> list[str]:
    """The statements of a job whose rows others may have, in the order in which rows flow."""
    return [s.name for s in job.stages if not isinstance(s, Read | LoadTable | Write | LateRows) and "/" not in s.name]
