"""What the commands that look at a job have in common: its file, its folder, and which of its batches are meant. Starts no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.files import shown_name
from windrow.cli.project import chosen_for, compile_chosen
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from windrow.jobs.observed import ObservedJob

JobName = Annotated[str | None, typer.Option("--job", help="Which job, if the file has several.", metavar="NAME", show_default=False)]
Newest = Annotated[int, typer.Option("--batches", help="So many of the newest batches of the last run.", min=1, metavar="N")]
NEWEST = 100


def observed_jobs(file: str, state: str | None, job: str | None, settings: list[str] | None, env: str | None = None) -> list[ObservedJob]:
    """The jobs of a file that have a state folder; an error where none has."""
    from windrow.errors import UsageError
    from windrow.jobs.observed import ObservedJob

    compiled = compile_chosen(file, chosen_for(file, env))
    jobs = [one for one in compiled.plan.jobs if job is None or one.name == job]
    if not jobs:
        names = ", ".join(one.name for one in compiled.plan.jobs)
        raise UsageError(codes.BAD_VALUE, f"there is no job {job} in {shown_name(file)}", f"its jobs: {names}" if names else "add a SELECT")
    folder = opened_state(file, state, settings, env)
    return [ObservedJob.of(one, folder) for one in jobs]


def print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))
