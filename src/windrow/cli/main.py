"""Where ``windrow`` starts."""

from __future__ import annotations

from typing import Annotated

import typer

from windrow.cli import (
    checking,
    explaining,
    exporting,
    formatting,
    jar_files,
    kafka,
    letters,
    otap,
    receiving,
    running,
    shell,
    states,
    trying,
    window_queries,
)
from windrow.cli.app import ListsByDefault, app, guarded

__all__ = ["app", "main"]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"windrow {version('windrow')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", callback=_show_version, is_eager=True)] = False,
) -> None:
    """Streaming SQL with event-time windows, on Apache Spark."""


app.command("run")(guarded(running.run))
app.command("sql")(guarded(shell.sql))
app.command("check")(guarded(checking.check_files))
app.command("explain")(guarded(explaining.explain_file))
app.command("fmt")(guarded(formatting.format_file))
app.command("test")(guarded(trying.run_cases))
letters_app = typer.Typer(
    help="The rows that a job set aside: look at them, keep them, feed them back.", cls=ListsByDefault, no_args_is_help=True
)
letters_app.command("list")(guarded(letters.list_letters))
letters_app.command("show")(guarded(letters.show_letter))
letters_app.command("export")(guarded(letters.export_letters))
letters_app.command("replay")(guarded(letters.replay_letters))
app.add_typer(letters_app, name="dead-letters")
state_app = typer.Typer(help="Look at the state of a job, and take it back to an earlier batch.", no_args_is_help=True)
state_app.command("list")(guarded(states.list_versions))
state_app.command("show")(guarded(states.show_state))
state_app.command("restore")(guarded(states.restore_state))
app.add_typer(state_app, name="state")
kafka_app = typer.Typer(help="A Kafka broker on this machine, to try things with.", no_args_is_help=True)
kafka_app.command("up")(guarded(kafka.up))
kafka_app.command("down")(guarded(kafka.down))
kafka_app.command("status")(guarded(kafka.status))
app.add_typer(kafka_app, name="kafka")
app.command("produce")(guarded(kafka.produce))
app.command("consume")(guarded(kafka.consume))
app.command("jars")(guarded(jar_files.fetch_jars))
otap_app = typer.Typer(help="OpenTelemetry data as the OTAP exporter writes it.", no_args_is_help=True)
otap_app.command("generate")(guarded(otap.generate_files))
otap_app.command("export")(guarded(exporting.export_messages))
app.add_typer(otap_app, name="otap")
receiver_app = typer.Typer(help="Look at the OTAP sources of a job, and read windows again.", no_args_is_help=True)
receiver_app.command("status")(guarded(receiving.show_status))
receiver_app.command("late")(guarded(receiving.list_late))
receiver_app.command("reprocess")(guarded(receiving.reprocess_windows))
receiver_app.command("query")(guarded(window_queries.query_windows))
app.add_typer(receiver_app, name="receiver")
app.command("demo")(guarded(running.demo))


def main() -> None:
    app()
