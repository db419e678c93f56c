"""``windrow lineage``: what columns are made of, and what they are used for. Starts no Spark."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env
from windrow.cli.files import shown_name

if TYPE_CHECKING:
    from windrow.compiler import Compiled
    from windrow.lineage import Lineage


class LineageFormat(StrEnum):
    text = "text"
    json = "json"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"
    openlineage = "openlineage"


Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="SQL files; several are linked by what they read and write.")]
ColumnName = Annotated[
    str | None, typer.Option("--column", help="Only this one, and what lies before it.", metavar="STREAM.COLUMN", show_default=False)
]
Up = Annotated[bool, typer.Option("--up", help="With --column: what it is made of, which is the default.")]
Down = Annotated[bool, typer.Option("--down", help="With --column: what it is used for.")]
FormatOption = Annotated[LineageFormat, typer.Option("--format", help="For people, for programs, or as a picture.")]


def show_lineage(
    files: Files,
    env: Env = None,
    column: ColumnName = None,
    up: Up = False,
    down: Down = False,
    form: FormatOption = LineageFormat.text,
) -> None:
    """Show which columns follow from which, in one file or through several."""
    from windrow.errors import UsageError
    from windrow.lineage import Lineage, lineage_of

    if (up or down) and column is None:
        raise UsageError(codes.CONFLICT, "--up and --down say which way to go from a column", "name one: --column stream.column")
    if up and down:
        raise UsageError(codes.CONFLICT, "--up and --down exclude each other", "give one of them; --up is the default")
    from windrow.cli.project import expanded

    compiled = [(shown_name(file), _compiled(file, env)) for file in expanded(files, env)]
    if form is LineageFormat.openlineage:
        if column is not None:
            raise UsageError(codes.CONFLICT, "events of OpenLineage speak of whole jobs", "leave --column away, or choose --format json")
        _print_json([event for name, each in compiled for event in _events(name, each)])
        return
    whole = Lineage.together(lineage_of(each.plan, name) for name, each in compiled)
    print(_whole(whole, form) if column is None else _of_column(whole, column, form, is_up=not down))


def _compiled(file: str, env: str | None) -> Compiled:
    from windrow.cli.project import chosen_for, compile_chosen

    return compile_chosen(file, chosen_for(file, env))


def _events(name: str, compiled: Compiled) -> list[dict[str, Any]]:
    from datetime import UTC, datetime

    from windrow.jobs.identity import Origin
    from windrow.lineage.openlineage import job_events

    return job_events(compiled.plan, name, Origin.of(compiled.script, compiled.plan).sql, datetime.now(UTC).isoformat())


def _of_column(lineage: Lineage, column: str, form: LineageFormat, *, is_up: bool) -> str:
    from windrow.lineage import downstream, find_column, upstream
    from windrow.lineage.report import asked_to_text, restricted

    wanted = find_column(lineage, column)
    asked = upstream(lineage, wanted) if is_up else downstream(lineage, wanted)
    return asked_to_text(asked, is_up=is_up) if form is LineageFormat.text else _whole(restricted(lineage, asked), form)


def _whole(lineage: Lineage, form: LineageFormat) -> str:
    from windrow.lineage import report
    from windrow.lineage.drawing import draw_lineage

    match form:
        case LineageFormat.json:
            import json

            return json.dumps(report.lineage_to_json(lineage), indent=2, ensure_ascii=False)
        case LineageFormat.text:
            return report.lineage_to_text(lineage)
        case _:
            return draw_lineage(lineage, form.value)


def _print_json(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False))
