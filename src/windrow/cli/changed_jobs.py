"""What the commands that change a job share: the jobs of a file, here or at a server, and whoever runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from windrow.cli import codes
from windrow.cli.files import shown_name
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from windrow.cli.remote_changes import Remote
    from windrow.compiler import Compiled
    from windrow.errors import UsageError
    from windrow.jobs.job_versions import JobText
    from windrow.jobs.saved_text import Recompile
    from windrow.jobs.switching import JobSwitch

# Why a server does not take an option.
OWN_SETTINGS = "a server runs its jobs with its own settings"


def remote_job(server: str | None, file: str, env: str | None, state: str | None, token_file: Path | None = None) -> Remote | None:
    """The job of a server, where one is named."""
    from windrow.errors import UsageError

    if server is None:
        return None
    if state is not None:
        raise UsageError(codes.CONFLICT, "--server and --state exclude each other", "a server knows the folders of its jobs")
    from windrow.cli.remote_changes import Remote

    return Remote(server, file, env or "", token_file)


def refuse_given(context: typer.Context, why: Mapping[str, str]) -> None:
    """Refuse options that a server does not take; ``why`` has the hint of each parameter."""
    from windrow.errors import UsageError

    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in why and source is not None and source.name != "DEFAULT":
            raise UsageError(codes.CONFLICT, f"--server and {parameter.opts[0]} exclude each other", why[name])


def no_version(number: int, there: Iterable[int]) -> UsageError:
    from windrow.errors import UsageError

    return UsageError(codes.BAD_VALUE, f"there is no version {number}", f"there are: {', '.join(map(str, there))}")


def job_switches(file: str, state: str | None, settings: list[str] | None, env: str | None) -> list[JobSwitch]:
    from windrow.cli.project import chosen_for
    from windrow.jobs.switching import switches_of
    from windrow.settings import environment

    folder = opened_state(file, state, settings, env)
    recompile = None if chosen_for(file, env).environment is None else _as_environment_has_it(file, env)
    return switches_of(compiled_file(file, env), folder, shown_name(file), environment(), recompile)


def compiled_file(file: str, env: str | None) -> Compiled:
    from windrow.cli.project import chosen_for, compile_chosen

    return compile_chosen(file, chosen_for(file, env))


def _as_environment_has_it(file: str, env: str | None) -> Recompile:
    from windrow.cli.project import chosen_for
    from windrow.config import compile_file
    from windrow.settings import environment

    chosen = chosen_for(file, env).environment
    assert chosen is not None, "there is a windrow.yaml"
    return lambda text: compile_file(text, shown_name(file), chosen, environment())


def stop_running_jobs(switches: Iterable[JobSwitch]) -> None:
    """All jobs of a file run in one process: each is asked to stop after its batch."""
    from windrow.jobs.authors import user_name
    from windrow.jobs.stop_wishes import stop_running

    for switch in switches:
        _refuse_served(switch)
        if stop_running(switch.folder, user_name() or "windrow", tell=partial(_tell_stop, switch.job.name)):
            print("   it has stopped")


def _tell_stop(job: str, who: str) -> None:
    print(f"job {job} runs ({who}): it is asked to stop at the end of its batch")


def _refuse_served(switch: JobSwitch) -> None:
    """Who stops the job of a server behind its back is answered by a start of the old text."""
    from pathlib import Path

    from windrow.errors import UsageError
    from windrow.storage.lease import holder_of

    place = Path(switch.folder.path).parent.parent
    if switch.folder.is_local and (place / "process.json").exists() and holder_of(switch.folder) is not None:
        raise UsageError(codes.CONFLICT, f"a server runs job {switch.job.name}", "ask it: --server URL in the place of --state")


def present_version(switch: JobSwitch) -> JobText:
    from windrow.jobs.job_versions import versions_of

    return versions_of(switch.folder)[-1]


def print_records(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False))
