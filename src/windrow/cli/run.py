"""``windrow run``: a file's jobs, from start to a clean stop."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Image, Interval, ListenAt, LogFile, LogForm, Master, Pack, RunFile, Settings, State, TokenFile
from windrow.cli.files import stem
from windrow.cli.project import Chosen, chosen_for, compile_chosen, files_of, working_in

if TYPE_CHECKING:
    from windrow.cli.session import Launch
    from windrow.compiler import Compiled
    from windrow.jobs.options import Mode
    from windrow.serving import Listen


def run(
    file: RunFile,
    env: Env = None,
    once: Annotated[bool, typer.Option("--once", help="Take in what is there, keep windows open, stop.")] = False,
    until_end: Annotated[bool, typer.Option("--until-end", help="Treat the input as bounded: take it in and close every window.")] = False,
    state: State = None,
    master: Master = None,
    pack: Pack = None,
    image: Image = None,
    settings: Settings = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No status line and no ledger; rows and errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The final report as one line of JSON.")] = False,
    trigger_interval: Interval = None,
    listen: ListenAt = None,
    listen_token_file: TokenFile = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if a source went on without a file that cannot be read.")] = False,
    log_format: LogForm = None,
    log_file: LogFile = None,
) -> None:
    """Run the jobs of a SQL file, until Ctrl-C unless an option says otherwise. The same command resumes where the last run stopped."""
    from windrow.cli.log_options import logs
    from windrow.cli.session import Launch, RunRequest, run_files
    from windrow.cli.set_options import of_workers, read_settings
    from windrow.settings import load_settings

    mode = _mode(once, until_end)
    again = _command(file, env, once, until_end, {"--state": state, "--master": master, "--pack": pack, "--image": image})
    workers = of_workers(pack, image)
    with logs(log_format, log_file), working_in(file) as files_in:
        chosen = chosen_for(files_in or file, env)
        defaults = load_settings()
        files = [file] if files_in is None else [str(path) for path in files_of(chosen)]
        places = {one: chosen.state(_below(state, files, one), defaults, stem(one)) for one in files}
        own = {**chosen.settings, **read_settings(settings or []), **workers}
        launches = [Launch(_compiled(one, chosen, place, own, is_quiet=quiet), place) for one, place in places.items()]
        request = RunRequest(
            mode=mode,
            state=launches[0].state,
            master=chosen.master(master, defaults),
            settings=own,
            trigger_interval_ms=_millis(trigger_interval or chosen.value("trigger_interval")),
            is_quiet=quiet,
            is_json=as_json,
            again=again,
            letters=f"windrow dead-letters {launches[0].state if state or chosen.name else file}" if len(files) == 1 else "",
            environment=chosen.line,
            environment_name=chosen.name,
            listen=_listen(listen, listen_token_file, defaults.listen_token),
            is_strict=strict,
        )
        _refuse_one_state_for_two(launches, files)
        if any(launch.compiled.plan.jobs or not launch.compiled.answers for launch in launches):
            run_files(launches, request)


def _compiled(file: str, chosen: Chosen, state: str, settings: Mapping[str, str], *, is_quiet: bool) -> Compiled:
    """A file, after its warnings and its answers are told. ``state`` is where its jobs have theirs: EXPLAIN ANALYZE looks there."""
    from windrow.cli.analyzing import answered

    compiled = compile_chosen(file, chosen)
    if not is_quiet:
        for warning in compiled.warnings:
            print(warning.render(compiled.script.source), file=sys.stderr)
    for answer in compiled.answers:
        print(f"{answered(answer, compiled.plan.jobs, state, settings)}\n")
    return compiled


def _below(state: str | None, files: list[str], file: str) -> str | None:
    """With several files, --state is the folder of their folders."""
    return state if state is None or len(files) == 1 else f"{state.rstrip('/')}/{stem(file)}"


def _refuse_one_state_for_two(launches: list[Launch], files: list[str]) -> None:
    from windrow.errors import UsageError

    seen: dict[str, str] = {}
    for launch, file in zip(launches, files, strict=True):
        if launch.state in seen:
            raise UsageError(
                codes.CONFLICT, f"{seen[launch.state]} and {file} would share the state {launch.state}", "give one of them another name"
            )
        seen[launch.state] = file


def demo(
    kafka: Annotated[bool, typer.Option("--kafka", help="Trades out of a Kafka topic, candles into another.")] = False,
    postgres: Annotated[bool, typer.Option("--postgres", help="Candles into a PostgreSQL table.")] = False,
    postgres_url: Annotated[
        str | None,
        typer.Option("--postgres-url", help="The database of that table; else a server of its own.", metavar="URL", show_default=False),
    ] = None,
    server: Annotated[bool, typer.Option("--server", help="A server with its page and three jobs, until Ctrl-C.")] = False,
) -> None:
    """Watch it work: candles over made-up trades, some of them late, some broken."""
    if server:
        from windrow.cli.demo_server import run_server_demo
        from windrow.errors import UsageError

        if kafka or postgres or postgres_url is not None:
            raise UsageError(codes.CONFLICT, "--server excludes --kafka and --postgres", "windrow demo --server")
        run_server_demo()
        return
    from windrow.cli.demo import run_demo

    run_demo(kafka=kafka, postgres=postgres, postgres_url=postgres_url)


def _mode(once: bool, until_end: bool) -> Mode:
    from windrow.errors import UsageError

    if once and until_end:
        hint = "--once keeps windows open for the next run, --until-end closes them"
        raise UsageError(codes.CONFLICT, "--once and --until-end exclude each other", hint)
    return "once" if once else "until_end" if until_end else "continuous"


def _listen(address: str | None, token_file: Path | None, token: str | None) -> Listen | None:
    from windrow.errors import UsageError

    if address is None:
        if token_file is not None:
            raise UsageError(codes.CONFLICT, "--listen-token-file without --listen", "--listen 0.0.0.0:9464 says where to listen")
        return None
    from windrow.serving import parse_listen

    return parse_listen(address, token, token_file)


def _millis(text: str | None) -> int:
    from windrow.errors import UsageError
    from windrow.sql import parse_duration

    if text is None:
        return 0
    micros = parse_duration(text)
    if micros is None:
        raise UsageError(codes.BAD_VALUE, f"--trigger-interval {text} is not a duration", "--trigger-interval 10s")
    return micros // 1000


def _command(file: str, env: str | None, once: bool, until_end: bool, given: Mapping[str, str | None]) -> str:
    """What to type to go on."""
    flags = [*(["--env", env] if env else []), *(["--once"] if once else []), *(["--until-end"] if until_end else [])]
    return " ".join(["windrow", "run", file, *flags, *(word for key, value in given.items() if value for word in (key, value))])
