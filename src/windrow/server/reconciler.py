"""Brings what jobs do to what they should do, one look at each every second; jobs of a server before this one are found by their notes.

Nothing waits here: a step of a job is one of look, start, signal, or leave it until later.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.errors import WindrowError
from windrow.server.admission import Limits, Needs, obstacle
from windrow.server.agent import ask
from windrow.server.database import LOST
from windrow.server.finding import find_jobs
from windrow.server.job_folders import JobFolder
from windrow.server.processes import Ending, JobProcess, Processes, Start, signal_process
from windrow.server.registry import (
    ENDED as RUN_ENDED,
)
from windrow.server.registry import (
    FAILED_RUN,
    PAUSED,
    RUNNING,
    STOPPED,
    STOPPED_RUN,
    Deployment,
    Registry,
    Version,
    now_millis,
)
from windrow.server.restarts import RestartRule, is_permanent, next_start
from windrow.server.texts import read_files

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
# A job ends its batch when it is told to stop; one that takes longer is told twice, which gives the batch up.
PATIENCE_SECONDS, GIVE_UP_SECONDS = 120.0, 30.0
_ASKED_AT_ONCE = 8
STARTING, STOPPING, FAILED, ENDED, RESTARTING, QUEUED = "starting", "stopping", "failed", "ended", "restarting", "queued"


@dataclass
class _Watched:
    """What is remembered of a job between two looks."""

    start_at: float = 0.0
    stop_since: float | None = None
    signals: int = 0
    # The run that is being stopped, and the one whose end was taken note of.
    stopping_run: str | None = None
    ended_run: str | None = None
    status: dict[str, Any] | None = None
    status_of: str | None = None
    asked_at: float = 0.0


@dataclass(frozen=True)
class Facts:
    """What the reconciler asks others about a version: what it needs, and how it is started."""

    needs: Callable[[Deployment], Needs] = lambda _: Needs()
    start: Callable[[Deployment, JobFolder], Start] = lambda deployment, folder: Start(folder, deployment.version)


class Reconciler:
    """``root`` is the folder of all jobs."""

    def __init__(
        self,
        root: Path,
        registry: Registry,
        processes: Processes,
        rule: RestartRule | None = None,
        limits: Limits | None = None,
        facts: Facts | None = None,
    ) -> None:
        self._root = root
        self._registry = registry
        self._processes = processes
        self._rule = rule or RestartRule()
        self._limits = limits or Limits()
        self._facts = facts or Facts()
        self._needs: dict[tuple[str, int], Needs] = {}
        self._watched: dict[str, _Watched] = {}
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._asking = ThreadPoolExecutor(_ASKED_AT_ONCE, "windrow-ask")
        self._thread: threading.Thread | None = None
        # What else a registry that is new must be told.
        self.mended: Callable[[], object] = lambda: None

    # From outside

    def begin(self) -> None:
        find_jobs(self._root, self._registry)
        self._thread = threading.Thread(target=self._loop, name="windrow-reconciler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Jobs go on."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(10)
        self._asking.shutdown(wait=False, cancel_futures=True)

    def wake(self) -> None:
        self._wake.set()

    def begun_by_hand(self, name: str) -> None:
        """A start that somebody asked for does not wait for the pause after a failure."""
        with self._lock:
            self._of(name).start_at = 0.0

    def restart(self, name: str) -> None:
        """End the process that runs now; the look after its end starts the next one."""
        process = self.process(name)
        with self._lock:
            self._of(name).stopping_run = None if process is None else process.run
        self.wake()

    def hold(self, name: str, *, is_held: bool) -> None:
        """A job that is held is stopped and not started, whatever it should do: its state is being changed."""
        with self._lock:
            (self._held.add if is_held else self._held.discard)(name)
        self.wake()

    def status(self, name: str) -> dict[str, Any] | None:
        """What the job said of itself when it was last asked: the jobs of its file, as ``/status`` has them."""
        with self._lock:
            return self._of(name).status

    def process(self, name: str) -> JobProcess | None:
        found = self._processes.current(JobFolder(self._root, name))
        return found if found is not None and found.is_alive else None

    def forget(self, name: str) -> None:
        with self._lock:
            self._watched.pop(name, None)
            self._processes.forget(JobFolder(self._root, name))

    # One look

    def _loop(self) -> None:
        while not self._closing.is_set():
            started = time.monotonic()
            try:
                self.look()
            except Exception:
                LOG.exception("looking at the jobs failed")
            self._wake.wait(max(0.05, LOOK_SECONDS - (time.monotonic() - started)))
            self._wake.clear()

    def look(self) -> None:
        try:
            if self._registry.database.mend():
                self._registry.add_event("registry.lost", "", "it was gone or spoiled, and is made anew from the folders", "error")
                find_jobs(self._root, self._registry)
                self.mended()
            self._look()
        except LOST as error:
            LOG.warning("the registry does not answer: %s", error, extra={"windrow": {}})

    def _look(self) -> None:
        self._processes.reap()
        deployments = self._registry.deployments()
        alive = frozenset(one.name for one in deployments if self.process(one.name) is not None)
        for deployment in deployments:
            try:
                with self._lock:
                    alive = self._step(deployment, deployments, alive, time.monotonic())
            except (OSError, WindrowError) as error:
                self._registry.observe(deployment.name, FAILED, f"the job could not be started: {error}")
        names = {one.name for one in deployments}
        with self._lock:
            self._watched = {name: one for name, one in self._watched.items() if name in names}

    def _step(self, deployment: Deployment, others: list[Deployment], alive: frozenset[str], now: float) -> frozenset[str]:
        """Gives the deployments that have a process now."""
        name, folder = deployment.name, JobFolder(self._root, deployment.name)
        watched, process = self._of(name), self._processes.current(folder)
        runs = process is not None and process.is_alive
        if process is not None and not runs and watched.ended_run != process.run:
            watched.ended_run, watched.status = process.run, None
            self._note_end(deployment, watched, process, self._processes.ending(folder, process), now)
            deployment = self._registry.deployment(name) or deployment
        if deployment.desired == STOPPED or name in self._held:
            self._stop(deployment, watched, process if runs else None, now)
        elif runs and process is not None:
            self._attend(deployment, watched, process, folder, now)
        elif deployment.desired == PAUSED:
            # Nothing of it is in memory any more; it goes on when it is resumed.
            self._now(deployment, PAUSED)
        elif deployment.observed not in (FAILED, ENDED) and now >= watched.start_at:
            why = self._obstacle(deployment, others, alive)
            if why:
                self._now(deployment, QUEUED, why)
            else:
                self._start(deployment, watched, folder)
                return alive | {name}
        return alive

    def _obstacle(self, deployment: Deployment, others: list[Deployment], alive: frozenset[str]) -> str:
        known = {one.name: self._needed(one) for one in others}
        fresh = [self._registry.deployment(one.name) or one for one in others if one.name != deployment.name]
        return obstacle(deployment, fresh, known, alive - {deployment.name}, self._limits, now_millis())

    def _needed(self, deployment: Deployment) -> Needs:
        key = deployment.name, deployment.version
        if key not in self._needs:
            try:
                self._needs[key] = self._facts.needs(deployment)
            except WindrowError:
                # Its process will say what is wrong with it.
                self._needs[key] = Needs()
        return self._needs[key]

    def _attend(self, deployment: Deployment, watched: _Watched, process: JobProcess, folder: JobFolder, now: float) -> None:
        """The job runs, as it should. One of another version is stopped first; the next look starts the right one."""
        if process.version != deployment.version or process.run == watched.stopping_run:
            self._signal(deployment, watched, process, now)
            return
        if now - watched.asked_at >= LOOK_SECONDS:
            watched.asked_at = now
            self._asking.submit(self._ask, deployment, folder.socket, process.run)
        told = watched.status if watched.status_of == process.run else None
        observed, why = _observed(told)
        self._now(deployment, observed, why)

    def _ask(self, deployment: Deployment, socket: Path, run: str) -> None:
        found = ask(socket, "/status")
        if found is None:
            return
        is_paused, wanted = bool(found.get("paused")), deployment.desired == PAUSED
        if is_paused != wanted and ask(socket, "/pause" if wanted else "/resume", "POST") is not None:
            found = ask(socket, "/status") or found
        with self._lock:
            watched = self._of(deployment.name)
            watched.status, watched.status_of = found, run

    def _start(self, deployment: Deployment, watched: _Watched, folder: JobFolder) -> None:
        version = self._registry.version(deployment.pipeline, deployment.version)
        if version is None:
            self._registry.observe(deployment.name, FAILED, f"there is no version {deployment.version}")
            return
        write_version(folder, version)
        process = self._processes.start(self._facts.start(deployment, folder))
        watched.status, watched.stopping_run, watched.stop_since, watched.signals = None, None, None, 0
        self._registry.begin_run(process.run, deployment.name, version.n, process.host.pid, process.started_at)
        self._registry.observe(deployment.name, STARTING)
        self._registry.add_event("job.started", deployment.name, f"version {version.n}, process {process.host.pid}")

    def _stop(self, deployment: Deployment, watched: _Watched, process: JobProcess | None, now: float) -> None:
        if process is not None:
            self._signal(deployment, watched, process, now)
            return
        watched.stop_since, watched.signals, watched.start_at = None, 0, 0.0
        if deployment.observed not in (STOPPED, FAILED, ENDED):
            self._now(deployment, STOPPED)

    def _signal(self, deployment: Deployment, watched: _Watched, process: JobProcess, now: float) -> None:
        """To stop in steps: end the batch, give it up, be killed. Each leaves the state as whole as the last."""
        watched.stopping_run = process.run
        watched.stop_since = now if watched.stop_since is None else watched.stop_since
        waited = now - watched.stop_since
        due = (0.0, PATIENCE_SECONDS, PATIENCE_SECONDS + GIVE_UP_SECONDS)
        if watched.signals < len(due) and waited >= due[watched.signals]:
            number = signal.SIGKILL if watched.signals == 2 else signal.SIGTERM
            signal_process(process, number)
            watched.signals += 1
            if watched.signals > 1:
                self._registry.add_event("job.slow_stop", deployment.name, f"sent {number.name} after {waited:.0f} s", "warning")
        self._registry.observe(deployment.name, STOPPING)

    def _note_end(self, deployment: Deployment, watched: _Watched, process: JobProcess, ending: Ending, now: float) -> None:
        name = deployment.name
        is_ours = deployment.desired == STOPPED or process.run == watched.stopping_run or process.version != deployment.version
        is_over = ending.code == 0 and not ending.was_told
        outcome = STOPPED_RUN if is_ours or name in self._held else RUN_ENDED if is_over else FAILED_RUN
        self._registry.begin_run(process.run, name, process.version, process.host.pid, process.started_at)
        is_news = self._registry.end_run(process.run, ending.code, ending.message, outcome)
        if not is_news or outcome == STOPPED_RUN:
            return
        if outcome == RUN_ENDED:
            self._now(deployment, ENDED, "its input ended", "job.ended")
            return
        how = "stopped by a signal" if ending.was_told else f"exit code {ending.code}" if ending.code is not None else "killed"
        told, is_lasting = ending.message or how, is_permanent(ending.code, ending.message)
        seconds = now_millis() / 1000
        begun = max(deployment.asked_at, now_millis() - int(self._rule.window * 1000))
        failures = [at / 1000 for at in self._registry.failures_since(name, begun - 1)]
        at = None if is_lasting else next_start(self._rule, failures, seconds)
        if at is None:
            why = told if is_lasting else f"ended {len(failures)} times within an hour; last: {told}"
            self._now(deployment, FAILED, why, "job.failed", "error")
            return
        watched.start_at = now + at - seconds
        self._now(deployment, RESTARTING, f"{told}; started again in {at - seconds:.0f} s", "job.restarting", "warning")

    def _now(self, deployment: Deployment, observed: str, why: str = "", event: str = "job.state", level: str = "info") -> None:
        if observed != deployment.observed:
            told = why if event != "job.state" else f"{deployment.observed} -> {observed}" + (f": {why}" if why else "")
            self._registry.add_event(event, deployment.name, told, level)
        self._registry.observe(deployment.name, observed, why)

    def _of(self, name: str) -> _Watched:
        return self._watched.setdefault(name, _Watched())


def _observed(status: Mapping[str, Any] | None) -> tuple[str, str]:
    """The state of a process by what its jobs say, and why; the worst of them counts.

    >>> _observed(None), _observed({"paused": True, "jobs": []}), _observed({"jobs": [{"state": "running"}, {"state": "waiting"}]})
    (('starting', ''), ('paused', ''), ('waiting', ''))
    """
    if status is not None and status.get("paused"):
        return PAUSED, ""
    jobs = list((status or {}).get("jobs", ()))
    states = {str(job.get("state")) for job in jobs}
    errors = [str(job["error"]) for job in jobs if job.get("error")]
    worst = next((one for one in (FAILED, "waiting", STARTING) if one in states), RUNNING)
    return (worst if states else STARTING), "; ".join(errors)


def write_version(folder: JobFolder, version: Version) -> None:
    files = dict(read_files(version.files))
    note = {
        "message": version.message,
        "author": version.author,
        "created_at": version.created_at,
        "has_project": bool(version.project),
        "files": sorted(files),
    }
    folder.write_version(version.n, version.sql, version.project, note, files)
