"""One run from a compiled file to its report: start Spark, start the jobs, watch them, stop them, say where the rows went."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli import codes
from windrow.cli.live import Drawn, Hidden, Loads, Plain, View
from windrow.cli.report import Finish, print_report
from windrow.cli.screen import say, screen
from windrow.cli.spark_start import start_spark
from windrow.cli.stopping import StopWish
from windrow.cli.unread import refuse_unread
from windrow.errors import SparkLostError, UsageError, WindrowError
from windrow.jobs import Jobs, RunOptions, start
from windrow.jobs.jar_needs import with_needed_jars
from windrow.jobs.options import STALLED, session_settings
from windrow.jobs.state_folder import prepared, state_folder
from windrow.spark.internals.java_process import JavaProcess, stop_session
from windrow.storage import is_local

if TYPE_CHECKING:
    from rich.console import Console

    from windrow.compiler import Compiled
    from windrow.jobs.options import Mode
    from windrow.plan.stages import Job
    from windrow.serving import Listen, Serving
    from windrow.serving.endpoints import Pausing

_GLANCE = 0.25
LOG = "spark.log"
GIVEN_UP = "stopped: Spark was ended with it, so the batch under way was given up and will run again with the same command"


@dataclass(frozen=True)
class RunRequest:
    """A run as the command line asks for it. ``again`` and ``letters`` are commands to tell the user."""

    mode: Mode
    state: str
    master: str
    settings: Mapping[str, str]
    trigger_interval_ms: int = 0
    is_quiet: bool = False
    is_json: bool = False
    # Whether the end of the run is told: what became of every row, and how to go on.
    has_report: bool = True
    again: str = ""
    letters: str = ""
    # What windrow.yaml has to do with it.
    environment: str = ""
    # Where to answer over HTTP.
    listen: Listen | None = None
    # Whether a file that a source could not read is a failure.
    environment_name: str = ""
    is_strict: bool = False
    # Where status and report go; chosen by what standard output is, if not given.
    console: Console | None = None

    @property
    def is_silent(self) -> bool:
        return self.is_quiet or self.is_json


@dataclass(frozen=True)
class Launch:
    """A compiled file and the folder of its state."""

    compiled: Compiled
    state: str


def run_file(compiled: Compiled, request: RunRequest) -> None:
    """Returns when every job has ended or was stopped; raises what a job failed with, after its report."""
    run_files([Launch(compiled, request.state)], request)


def run_files(launches: Sequence[Launch], request: RunRequest) -> None:
    """The same for several files, in one session of Spark; each has a state of its own."""
    plans = [job for launch in launches for job in launch.compiled.plan.jobs]
    if not plans:
        hint = "add a SELECT or CREATE STREAM ... AS SELECT"
        raise UsageError(codes.NOTHING_TO_RUN, "there is nothing to run: the file only defines sources", hint)
    launches = [launch for launch in launches if launch.compiled.plan.jobs]
    console = request.console or watching_console()
    with closing(_serving(request, console)) as serving:
        _run(launches, request, console, serving)


def _serving(request: RunRequest, console: Console) -> Serving | Unheard:
    """Before Spark starts: an address that cannot be had is found at once, and whoever asks is told that the job is starting."""
    if request.listen is None:
        return Unheard()
    from windrow.serving import Serving

    stalled_after = RunOptions(settings={key: value for key, value in request.settings.items() if key == STALLED}).stalled_after
    serving = Serving(request.listen, stalled_after)
    if not request.is_silent:
        say(console, f"listening on {serving.address} · /metrics /health/ready /status", style="dim")
    return serving


class Unheard:
    """For a run that listens nowhere."""

    def close(self) -> None: ...


def _run(launches: Sequence[Launch], request: RunRequest, console: Console, serving: Serving | Unheard) -> None:
    log = _log_in(launches[0].state, request)
    if not request.is_silent:
        _announce(launches, request, console)
    plans = [job for launch in launches for job in launch.compiled.plan.jobs]
    states = [launch.state for launch in launches]
    spark = start_spark(request.master, with_needed_jars(session_settings(request.settings), request.master, plans, states), log)
    java = JavaProcess.of(spark)
    # Spark is stopped within: a second Ctrl-C need not wait for that either.
    with StopWish() as wish:
        try:
            loads = None if request.is_silent else Loads(lambda line: say(console, line, style="dim"))
            pausing = serving.pausing if not isinstance(serving, Unheard) else None

            def is_paused() -> bool:
                return pausing is not None and pausing.wanted.is_set()

            while True:
                run_jobs(_started(launches, request, spark, loads, serving), wish, request, console, is_paused)
                if pausing is None or isinstance(serving, Unheard) or not is_paused():
                    break
                _await_resumption(pausing, wish)
                if wish.asked:
                    break
                serving.unwatch()
        except Exception as error:
            lost = _loss(error, java, plans)
            if lost is None:
                raise
            if not wish.asked:
                raise lost from None
            say(console, GIVEN_UP)
            raise SystemExit(wish.exit_code) from None
        finally:
            stop_session(spark)


def _await_resumption(pausing: Pausing, wish: StopWish) -> None:
    """The jobs have stopped after a batch; Spark stays ready for them to go on."""
    pausing.reached.set()
    while pausing.wanted.is_set() and not wish.asked:
        time.sleep(_GLANCE)
    pausing.reached.clear()


def _started(launches: Sequence[Launch], request: RunRequest, spark: Any, loads: Loads | None, serving: Serving | Unheard) -> Jobs:
    """The jobs of every file. Where one does not start, those that did are stopped again."""
    of_session = session_settings(request.settings)
    own = {key: value for key, value in request.settings.items() if key not in of_session}
    running: list[Jobs] = []
    heard = None if isinstance(serving, Unheard) else serving
    try:
        for launch in launches:
            options = RunOptions(
                request.mode, launch.state, request.master, own, request.trigger_interval_ms, environment=request.environment_name
            )
            running.append(start(launch.compiled, options, spark, loads, heard))
    except BaseException:
        for jobs in running:
            with suppress(WindrowError):
                jobs.stop()
        raise
    return Jobs.together(running)


def _loss(error: Exception, java: JavaProcess, plans: Sequence[Job]) -> SparkLostError | None:
    """The end of Java, whoever was the first to notice: a job, or we ourselves."""
    if isinstance(error, WindrowError):
        return error if isinstance(error, SparkLostError) else None
    return java.loss(error, ", ".join(job.name for job in plans))


def watching_console() -> Console:
    """Where status and reports go: with the rows on a terminal, beside them where the rows are read by another program."""
    if not sys.stdout.isatty():
        return screen(is_error=True)
    from windrow.connectors.console.runtime import console

    return console()


def _log_in(state: str, request: RunRequest) -> Path | None:
    """Spark's own output is kept with the state, if that is on a local disk. A folder that cannot be written fails here, early."""
    if not is_local(state, settings=request.settings):
        return None
    return Path(prepared(state_folder(state, settings=request.settings)).path, LOG)


def _announce(launches: Sequence[Launch], request: RunRequest, console: Console) -> None:
    jobs = [job for launch in launches for job in launch.compiled.plan.jobs]
    names = ", ".join(job.name for job in jobs)
    if request.environment:
        say(console, request.environment, style="dim")
    place = request.state if len(launches) == 1 else f"{request.state.rpartition('/')[0]}, a folder each"
    say(console, f"starting {'job' if len(jobs) == 1 else f'{len(jobs)} jobs'} {names} · state in {place}", style="dim")
    for job in jobs:
        if not job.writes:
            say(console, f"note: no statement of job {job.name} has a sink (WITH 'connector'), so its rows go nowhere", style="yellow")


def _view(request: RunRequest, console: Console) -> View:
    if request.is_silent:
        return Hidden(screen(is_error=True))
    return Drawn(console) if console.is_terminal else Plain(console)


def run_jobs(jobs: Jobs, wish: StopWish, request: RunRequest, console: Console, is_over: Callable[[], bool] = lambda: False) -> None:
    """Watch running jobs until they end, somebody wants them to stop, or they are over; then report."""
    view = _view(request, console)
    try:
        with view:
            _watch(jobs, wish, view, is_over)
    except BaseException as error:
        with suppress(WindrowError):
            jobs.stop()
        if not (wish.asked and isinstance(error, SparkLostError)):
            _report(jobs, request, console)
        raise
    _report(jobs, request, console)
    if request.is_strict:
        refuse_unread([f"{one.source}: {one.path}" for status in jobs.status() for one in status.unread_files])


def _watch(jobs: Jobs, wish: StopWish, view: View, is_over: Callable[[], bool]) -> None:
    view.show(jobs.status())
    while not jobs.await_end(_GLANCE):
        if is_over():
            jobs.stop()
            return
        if wish.asked:
            view.say("stopping: the batch under way is finished first; once more stops at once")
            jobs.stop()
            # Raises what the last batch failed with.
            jobs.await_end(0)
            return
        view.show(jobs.status())


def _report(jobs: Jobs, request: RunRequest, console: Console) -> None:
    if not request.has_report:
        return
    statuses = tuple(jobs.status())
    folders = {status.job: jobs.state_folder(status.job) for status in statuses}
    if request.is_json:
        data = [{**status.to_json(), "state_folder": folders[status.job]} for status in statuses]
        print(json.dumps({"mode": request.mode, "jobs": data}, default=str), flush=True)
    elif not request.is_quiet:
        print_report(Finish(statuses, folders, request.mode, request.again, request.letters), console)
