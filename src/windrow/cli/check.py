"""``windrow check``: every fault of every file, before anything runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli.app import WRONG
from windrow.cli.arguments import Env, Form, FormOption
from windrow.cli.files import shown_name
from windrow.cli.project import chosen_for, compile_chosen, files_of, is_project

if TYPE_CHECKING:
    from windrow.compiler import Compiled
    from windrow.errors import Diagnostic, WindrowError
    from windrow.model.place import SourceText


def check_files(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...|DIR", help="SQL files, - for standard input, or a folder with windrow.yaml.", show_default=False),
    ] = None,
    env: Env = None,
    form: FormOption = Form.text,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors: exit code 2.")] = False,
    system_columns: Annotated[bool, typer.Option("--system-columns", help="Print the reference of system columns.")] = False,
) -> None:
    """Check SQL files: all that is wrong with each of them, without starting Spark."""
    if system_columns:
        _print_system_columns(form)
        return
    if not files:
        raise typer.BadParameter("name at least one file, or - for standard input", param_hint="FILE...")
    faults: list[dict[str, Any]] = []
    for file in _named(files, env):
        text, warnings, found = _check(file, env)
        faults += found
        if form is Form.text:
            print(text)
            for warning in warnings:
                print(warning, file=sys.stderr)
    if form is Form.json:
        import json

        print(json.dumps(faults, indent=2, ensure_ascii=False))
    if any(strict or fault["severity"] == "error" for fault in faults):
        raise typer.Exit(WRONG)


def _named(files: list[str], env: str | None) -> list[str]:
    """Every file, and those of every project."""
    found: list[str] = []
    for file in files:
        found += [str(path) for path in files_of(chosen_for(file, env))] if is_project(file) else [file]
    return found


def _check(file: str, env: str | None) -> tuple[str, list[str], list[dict[str, Any]]]:
    """What to print about a file, its warnings, and all that was found as plain values."""
    from windrow.errors import WindrowError

    name = shown_name(file)
    try:
        compiled = compile_chosen(file, chosen_for(file, env))
    except WindrowError as error:
        return f"{_source_name(error) or name}:\n{error}", [], _faults(name, error)
    statements, jobs = len(compiled.script.statements), len(compiled.plan.jobs)
    source, found = compiled.script.source, compiled.warnings
    told = f", {_count(len(found), 'warning')}" if found else ""
    line = f"{name}: {_count(statements, 'statement')}, {_count(jobs, 'job')}{told}"
    line += "".join(f"\n  {one}" for one in _changed(file, env, compiled))
    return line, [each.render(source) for each in found], [_fault(name, each, source) for each in found]


def _changed(file: str, env: str | None, compiled: Compiled) -> list[str]:
    """What a change means is windrow plan's to say: here only that there is something to say. Another machine is not asked."""
    from pathlib import Path

    from windrow.cli.files import stem
    from windrow.settings import load_settings
    from windrow.storage import is_local

    place = chosen_for(file, env).state(None, load_settings(), stem(file))
    if file == "-" or not is_local(place) or not Path(place).is_dir():
        return []
    from windrow.errors import WindrowError
    from windrow.jobs.state_folder import state_folder
    from windrow.jobs.switching import changed_since

    try:
        found = changed_since(compiled, state_folder(place))
    except WindrowError as error:
        return [f"its state in {place} cannot be read: {error.message}"]
    return [
        f"job {job} has state of another text (class {klass.value}, {klass.meaning}): windrow plan {file} says what becomes of it"
        for job, klass in found.items()
    ]


def _source_name(error: WindrowError) -> str | None:
    from windrow.errors import SqlError

    return error.source.name if isinstance(error, SqlError) else None


def _faults(name: str, error: WindrowError) -> list[dict[str, Any]]:
    from windrow.errors import Diagnostic, SqlError

    if isinstance(error, SqlError):
        return [_fault(name, each, error.source) for each in error.diagnostics]
    return [_fault(name, Diagnostic(error.code, error.message, None, error.hint), None)]


def _fault(name: str, diagnostic: Diagnostic, source: SourceText | None) -> dict[str, Any]:
    span = diagnostic.span
    start = (None, None) if span is None or source is None else source.position(span.start)
    end = (None, None) if span is None or source is None else source.position(span.end)
    return {
        "file": name if span is None or source is None else source.name_at(span.start),
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "line": start[0],
        "column": start[1],
        "end_line": end[0],
        "end_column": end[1],
        "hint": diagnostic.hint,
    }


def _count(number: int, what: str) -> str:
    """
    >>> _count(1, "job"), _count(3, "job")
    ('1 job', '3 jobs')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def _print_system_columns(form: Form) -> None:
    from windrow.model.system import SYSTEM_COLUMNS, Origin

    if form is Form.json:
        import json

        known = [
            {"name": c.name, "type": str(c.type), "of": c.origin.value, "meaning": c.meaning, "example": c.example} for c in SYSTEM_COLUMNS
        ]
        print(json.dumps(known, indent=2))
        return
    heads = {
        Origin.ROW: "Every row has these:",
        Origin.WINDOW: "Every emission of a WINDOW has these too:",
        Origin.EMISSION: "Every emission of a WINDOW or GROUP BY has these too:",
    }
    print("System columns are usable in every clause, in any case of letters, and are never part of SELECT *.")
    for origin, head in heads.items():
        print(f"\n{head}")
        for column in SYSTEM_COLUMNS:
            if column.origin is origin:
                print(f"\n  {column.name}  {column.type}\n      {column.meaning}\n      {column.example}")
