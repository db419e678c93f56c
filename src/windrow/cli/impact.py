"""``windrow impact``: who is affected by a change of a file. Starts no Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Form, FormOption, Reach, State
from windrow.cli.files import read_sql, shown_name
from windrow.cli.group import member_of
from windrow.cli.project import chosen_for, compile_chosen, expanded

if TYPE_CHECKING:
    from windrow.groups import Member
    from windrow.groups.effects import Impact


class FailOn(StrEnum):
    values = "values"
    widens = "widens"
    breaks = "breaks"


SqlFile = Annotated[str, typer.Argument(metavar="FILE", help="The changed file.", show_default=False)]
Others = Annotated[
    list[str] | None, typer.Argument(metavar="[OTHER]...|DIR", help="Files that may read what it writes.", show_default=False)
]
Against = Annotated[
    str,
    typer.Option("--against", help="The file as it was; or a job, by its name or folder: the text that made its state.", metavar="OLD|JOB"),
]
Fails = Annotated[
    FailOn | None, typer.Option("--fail-on", help="Exit code 1 where somebody is affected so badly, or worse.", show_default=False)
]


def show_impact(
    file: SqlFile,
    against: Against,
    others: Others = None,
    form: FormOption = Form.text,
    fail_on: Fails = None,
    state: State = None,
    settings: Reach = None,
    env: Env = None,
) -> None:
    """Show who is affected by a change of a file, in it and in other files: none, values change, type widens, breaks."""
    from windrow.errors import UsageError
    from windrow.groups.impact import impact

    # A folder has the changed file, too.
    readers = [other for other in expanded(others or [], env) if Path(other) != Path(file)]
    twice = next((each for i, each in enumerate(others or []) if each == file or each in (others or [])[:i]), None)
    if twice is not None:
        raise UsageError(codes.CONFLICT, f"{shown_name(twice)} is named twice", "name the changed file once, then the others")
    new = member_of(file, env)
    old = _as_file(against, file, env) if Path(against).is_file() else _as_job(against, file, new, state, settings, env)
    found = impact(old, new, [member_of(other, env) for other in readers])
    if form is Form.json:
        from windrow.cli.observing import print_json

        print_json(found.to_json(against))
    else:
        print(found.text(against))
    if fail_on is not None and _is_as_bad(found, fail_on):
        raise typer.Exit(1)


def _is_as_bad(found: Impact, limit: FailOn) -> bool:
    from windrow.groups import Verdict

    return found.verdict >= Verdict[limit.name.upper()]


def _as_file(against: str, file: str, env: str | None) -> Member:
    """The old text under the name of the new one: jobs are called after their file."""
    return _member(read_sql(against), file, against, env)


def _member(text: str, file: str, against: str, env: str | None) -> Member:
    from dataclasses import replace

    from windrow.errors import SqlError
    from windrow.groups import Member

    try:
        compiled = compile_chosen(file, chosen_for(file, env), text)
    except SqlError as error:
        raise SqlError(error.diagnostics, replace(error.source, name=f"{against} (what {file} is compared with)")) from None
    return Member.of(compiled.script, compiled.catalog, compiled.plan, shown_name(file))


def _as_job(against: str, file: str, new: Member, state: str | None, settings: list[str] | None, env: str | None) -> Member:
    """The text that made the state of a job."""
    from windrow.cli.state_option import opened_state
    from windrow.errors import UsageError
    from windrow.jobs.identity import CARD, read_card
    from windrow.storage import folder_name

    names = [job.name for job in new.plan.jobs]
    is_folder = Path(against).is_dir()
    folder = opened_state(file, against if is_folder else state, settings, env)
    if folder.exists(CARD):
        return _member(str(read_card(folder)["sql"]), file, against, env)
    wanted = [folder_name(name) for name in ([against] if not is_folder else names)]
    there = next((name for name in wanted if folder.exists(f"{name}/{CARD}")), None)
    if there is None:
        hint = f"name the file as it was, or a job that has run: {', '.join(names)}" if names else "name the file as it was"
        raise UsageError(codes.NO_STATE, f"{against} is no file, and there is no state of such a job in {folder.path}", hint)
    return _member(str(read_card(folder.child(there))["sql"]), file, against, env)
