"""``windrow group``: several files together. Starts no Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env
from windrow.cli.files import shown_name
from windrow.cli.observing import NEWEST, Newest
from windrow.cli.project import chosen_for, compile_chosen, expanded

if TYPE_CHECKING:
    from windrow.diagnosis.analysis import Analysis
    from windrow.groups import Group, Member


class GroupFormat(StrEnum):
    text = "text"
    json = "json"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


class Part(StrEnum):
    all = "all"
    queries = "queries"
    shared = "shared"
    opportunities = "opportunities"


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...|DIR", help="SQL files; a folder with windrow.yaml stands for all of its.", show_default=False),
]
StateOf = Annotated[
    list[str] | None,
    typer.Option("--state", help="The state of a file, if it is not .windrow/<file>; repeatable.", metavar="FILE=DIR", show_default=False),
]
Show = Annotated[Part, typer.Option("--show", help="Only who reads and writes what, what is shared, or what could be.")]
FormatOption = Annotated[GroupFormat, typer.Option("--format", help="For people, for programs, or as a picture.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 1 where files do not fit together.")]

_PARTS = {
    Part.queries: ("multi_query",),
    Part.shared: ("shared_resources",),
    Part.opportunities: ("optimization_opportunities",),
}


def show_group(
    files: Files,
    env: Env = None,
    show: Show = Part.all,
    form: FormatOption = GroupFormat.text,
    state: StateOf = None,
    batches: Newest = NEWEST,
    strict: Strict = False,
) -> None:
    """Show who reads and writes what in several files, what they share and could share, and where they do not fit together."""
    from windrow.groups.report import PARTS, GroupReport

    if show is not Part.all and form is not GroupFormat.text:
        from windrow.errors import UsageError

        raise UsageError(codes.CONFLICT, "--show belongs to --format text", "leave --show away: the other formats have everything")
    files = expanded(files, env)
    group = group_of(files, env)
    report = GroupReport.of(group, figures_of(files, _states(state, files), batches, env))
    if form is GroupFormat.json:
        from windrow.cli.observing import print_json

        print_json(report.to_json())
    elif form is GroupFormat.text:
        print(report.text(_PARTS.get(show, PARTS)))
    else:
        print(report.draw(form.value))
    if strict and group.conflicts():
        raise typer.Exit(1)


def group_of(files: list[str], env: str | None = None) -> Group:
    from windrow.errors import UsageError
    from windrow.groups import Group

    twice = next((file for i, file in enumerate(files) if file in files[:i]), None)
    if twice is not None:
        raise UsageError(codes.CONFLICT, f"{shown_name(twice)} is named twice", "name each file once")
    return Group(tuple(member_of(file, env) for file in files))


def member_of(file: str, env: str | None = None) -> Member:
    from windrow.groups import Member

    compiled = compile_chosen(file, chosen_for(file, env))
    return Member.of(compiled.script, compiled.catalog, compiled.plan, shown_name(file))


def figures_of(files: list[str], states: dict[str, str], batches: int, env: str | None = None) -> dict[tuple[str, str], Analysis]:
    """What the last run of each job took, where there was one."""
    from windrow.cli.files import STDIN
    from windrow.cli.observing import observed_jobs
    from windrow.diagnosis.analysis import analyze
    from windrow.errors import UsageError

    found: dict[tuple[str, str], Analysis] = {}
    for file in files:
        if file == STDIN:
            continue
        compiled = compile_chosen(file, chosen_for(file, env))
        for job in compiled.plan.jobs:
            try:
                (observed,) = observed_jobs(file, states.get(file), job.name, None, env)
                found[shown_name(file), job.name] = analyze(job, observed.last_run(batches))
            except UsageError as error:
                if error.code not in (codes.NO_STATE, codes.NO_BATCH) or file in states:
                    raise
    return found


def _states(given: list[str] | None, files: list[str]) -> dict[str, str]:
    from windrow.errors import UsageError

    states: dict[str, str] = {}
    for entry in given or ():
        file, is_there, folder = entry.rpartition("=")
        if not is_there and len(files) == 1:
            file = files[0]
        if file not in files or not folder:
            raise UsageError(codes.BAD_VALUE, f"--state {entry} names no file of this group", f"--state {files[0]}=DIR")
        states[file] = folder
    return states
