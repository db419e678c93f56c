"""The job that a saved text gives: state is loaded and replayed by the statements that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from windrow.compiler import Compiled, compile_sql
from windrow.errors import JobError, WindrowError
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import differences
from windrow.plan.stages import Job

_HINT = "set the environment as it was then, or start with a new --state folder"


# How a text is compiled: as it is, or as an environment has it.
Recompile = Callable[[str], Compiled]


def as_it_is(file: str, env: Mapping[str, str]) -> Recompile:
    return lambda text: compile_sql(text, file, env)


def saved_job(card: Mapping[str, Any], recompile: Recompile) -> Job:
    """The job as its saved text has it, and as it made the state."""
    try:
        compiled = recompile(str(card["sql"]))
    except WindrowError as error:
        raise JobError("WR671", f"the text that the state of job {card['job']} was made by no longer compiles: {error}", _HINT) from None
    found = next((job for job in compiled.plan.jobs if job.name == card["job"]), None)
    if found is None or differences(card["plan"], job_to_json(found)):
        message = (
            f"the text that the state of job {card['job']} was made by gives another plan now: a variable or an imported file has changed"
        )
        raise JobError("WR671", message, _HINT)
    return found
