"""``windrow run``: a file's jobs, from start to a clean stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Interval, Master, Settings, SqlFile, State
from windrow.cli.files import read_sql, shown_name, stem

if TYPE_CHECKING:
    from windrow.jobs.options import Mode


def run(
    file: SqlFile,
    once: Annotated[bool, typer.Option("--once", help="Take in what is there, keep windows open, stop.")] = False,
    until_end: Annotated[bool, typer.Option("--until-end", help="Treat the input as bounded: take it in and close every window.")] = False,
    state: State = None,
    master: Master = None,
    settings: Settings = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No status line and no ledger; rows and errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The final report as one line of JSON.")] = False,
    trigger_interval: Interval = None,
) -> None:
    """Run the jobs of a SQL file, until Ctrl-C unless an option says otherwise. The same command resumes where the last run stopped."""
    from windrow.cli.session import RunRequest, run_file
    from windrow.cli.set_options import read_settings
    from windrow.compiler import compile_sql
    from windrow.settings import environment, load_settings

    defaults = load_settings()
    request = RunRequest(
        mode=_mode(once, until_end),
        state=state or str(Path(defaults.state, stem(file))),
        master=master or defaults.default_master,
        settings=read_settings(settings or []),
        trigger_interval_ms=_millis(trigger_interval),
        is_quiet=quiet,
        is_json=as_json,
        again=_command(file, once, until_end, state),
        letters=f"windrow dead-letters {state or file}",
    )
    compiled = compile_sql(read_sql(file), shown_name(file), environment())
    if not quiet:
        for warning in compiled.warnings:
            print(warning.render(compiled.script.source), file=sys.stderr)
    for answer in compiled.answers:
        print(f"{answer}\n")
    if compiled.plan.jobs or not compiled.answers:
        run_file(compiled, request)


def demo(
    kafka: Annotated[bool, typer.Option("--kafka", help="Trades out of a Kafka topic, candles into another.")] = False,
    postgres: Annotated[bool, typer.Option("--postgres", help="Candles into a PostgreSQL table.")] = False,
    postgres_url: Annotated[
        str | None,
        typer.Option("--postgres-url", help="The database of that table; else a server of its own.", metavar="URL", show_default=False),
    ] = None,
) -> None:
    """Watch it work: candles over made-up trades, some of them late, some broken."""
    from windrow.cli.demo import run_demo

    run_demo(kafka=kafka, postgres=postgres, postgres_url=postgres_url)


def _mode(once: bool, until_end: bool) -> Mode:
    from windrow.errors import UsageError

    if once and until_end:
        hint = "--once keeps windows open for the next run, --until-end closes them"
        raise UsageError(codes.CONFLICT, "--once and --until-end exclude each other", hint)
    return "once" if once else "until_end" if until_end else "continuous"


def _millis(text: str | None) -> int:
    from windrow.errors import UsageError
    from windrow.sql import parse_duration

    if text is None:
        return 0
    micros = parse_duration(text)
    if micros is None:
        raise UsageError(codes.BAD_VALUE, f"--trigger-interval {text} is not a duration", "--trigger-interval 10s")
    return micros // 1000


def _command(file: str, once: bool, until_end: bool, state: str | None) -> str:
    """What to type to go on."""
    words = ["windrow", "run", file, *(["--once"] if once else []), *(["--until-end"] if until_end else [])]
    return " ".join([*words, *(["--state", state] if state else [])])
