"""``windrow config``: what holds in an environment, where it comes from, and how two of them differ. Starts no Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.arguments import Env, Form, FormOption
from windrow.cli.project import chosen_for

if TYPE_CHECKING:
    from windrow.config import Environment
    from windrow.config.shown import Line

Place = Annotated[str, typer.Argument(metavar="[FILE|DIR]", help="A file of the project, or its folder.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Defaults as well.")]
One = Annotated[str, typer.Argument(metavar="ENV", help="An environment.", show_default=False)]
Other = Annotated[str, typer.Argument(metavar="ENV", help="Another one.", show_default=False)]
In = Annotated[str, typer.Option("--in", help="A file of the project, or its folder.", metavar="FILE|DIR")]


def show_config(place: Place = ".", env: Env = None, form: FormOption = Form.text, every: All = False) -> None:
    """Show the values of an environment, secrets masked, and where each comes from."""
    from windrow.config.shown import lines_of

    environment = _environment(place, env)
    lines = lines_of(environment, _given(), has_defaults=every)
    if form is Form.json:
        project = environment.project
        told = {"file": project.source.name, "environment": environment.name, "environments": project.environments}
        print(json.dumps({**told, "values": [line.to_json() for line in lines]}, indent=2, ensure_ascii=False))
        return
    print(_head(environment))
    _print_table([("key", "value", "from"), *((line.key, line.value, line.source) for line in lines)])


def diff_config(one: One, other: Other, place: In = ".", form: FormOption = Form.text) -> None:
    """Show the keys whose values differ between two environments."""
    from windrow.config.shown import differences

    found = differences(_environment(place, one), _environment(place, other))
    if form is Form.json:
        print(json.dumps([{"key": key, one: left, other: right} for key, left, right in found], indent=2, ensure_ascii=False))
        return
    if not found:
        print(f"{one} and {other} have the same values")
        return
    _print_table([("key", one, other), *((key, left or "-", right or "-") for key, left, right in found)])


def print_schema() -> None:
    """Print the JSON Schema of windrow.yaml, for editors."""
    from windrow.config import SCHEMA_FILE

    print(SCHEMA_FILE.read_text(encoding="utf-8"), end="")


def _environment(place: str, env: str | None) -> Environment:
    from windrow.config import FILE_NAME
    from windrow.config.codes import NO_PROJECT
    from windrow.errors import UsageError

    environment = chosen_for(place, env).environment
    if environment is None:
        raise UsageError(NO_PROJECT, f"there is no {FILE_NAME} in {place} or above it", "windrow init")
    return environment


def _given() -> list[Line]:
    """What the process says itself."""
    from windrow.config.shown import from_process
    from windrow.settings import PREFIX, load_settings

    settings = load_settings()
    given = {"master": (settings.master, "MASTER"), "state.root": (settings.given_state, "STATE")}
    return [from_process(key, text, PREFIX + name) for key, (text, name) in given.items() if text is not None]


def _head(environment: Environment) -> str:
    project = environment.project
    others = f"environments: {', '.join(project.environments) or 'none'}"
    if not environment.name:
        return f"{project.source.name}, what holds in every environment ({others})\n"
    extends = f", which extends {' and '.join(environment.extends)}" if environment.extends else ""
    return f"environment {environment.name} of {project.source.name}{extends} ({others})\n"


def _print_table(rows: list[tuple[str, str, str]]) -> None:
    """Columns as wide as they need be: what is printed may be searched, and nothing of it is cut."""
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * max(len(row[2]) for row in rows)))
    for key, value, source in rows:
        print(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}".rstrip())
