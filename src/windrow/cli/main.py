"""Where ``windrow`` starts."""

from __future__ import annotations

from typing import Annotated

import typer

from windrow.cli import checking, explaining, formatting, letters, running, trying
from windrow.cli.app import app


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"windrow {version('windrow')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", callback=_show_version, is_eager=True)] = False,  # noqa: ARG001
) -> None:
    """Streaming SQL with event-time windows, on Apache Spark."""


app.command("run")(running.run)
app.command("check")(checking.check_files)
app.command("explain")(explaining.explain_file)
app.command("fmt")(formatting.format_file)
app.command("test")(trying.run_cases)
app.command("dead-letters")(letters.list_letters)
app.command("demo")(running.demo)


def main() -> None:
    app()
