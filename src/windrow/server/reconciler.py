"""Brings what jobs do to what they should do, one look at each every second; jobs of a server before this one are found by their notes.

Nothing waits here: a step of a job is one of look, start, signal, or leave it until later.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.server.agent import ask
from windrow.server.job_folders import JobFolder, job_folders, read_note, write_note
from windrow.server.processes import Ending, JobProcess, Processes, ending_of, known_process, signal_process
from windrow.server.registry import RUNNING, STOPPED, Deployment, Registry, now_millis
from windrow.server.restarts import RestartRule, Restarts, is_permanent

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
# A job ends its batch when it is told to stop; one that takes longer is told twice, which gives the batch up.
PATIENCE_SECONDS, GIVE_UP_SECONDS = 120.0, 30.0
_ASKED_AT_ONCE = 8
STARTING, STOPPING, FAILED, ENDED, RESTARTING = "starting", "stopping", "failed", "ended", "restarting"


@dataclass
class _Watched:
    """What is remembered of a job between two looks."""

    restarts: Restarts
    start_at: float = 0.0
    stop_since: float | None = None
    signals: int = 0
    # The run that is being stopped, and the one whose end was taken note of.
    stopping_run: str | None = None
    ended_run: str | None = None
    status: dict[str, Any] | None = None
    asked_at: float = 0.0


class Reconciler:
    def __init__(self, root: Path, registry: Registry, processes: Processes, rule: RestartRule | None = None) -> None:
        self._root = root
        self._registry = registry
        self._processes = processes
        self._rule = rule or RestartRule()
        self._watched: dict[str, _Watched] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._asking = ThreadPoolExecutor(_ASKED_AT_ONCE, "windrow-ask")
        self._thread: threading.Thread | None = None

    # From outside

    def begin(self) -> None:
        self.find_jobs()
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

    def begun_by_hand(self, pipeline: str) -> None:
        """A start that somebody asked for: failures of before do not count against it."""
        with self._lock:
            watched = self._of(pipeline)
            watched.restarts.forget()
            watched.start_at = 0.0

    def restart(self, pipeline: str) -> None:
        """End the process that runs now; the look after its end starts the next one."""
        process = self.process(pipeline)
        with self._lock:
            self._of(pipeline).stopping_run = None if process is None else process.run
        self.wake()

    def status(self, pipeline: str) -> dict[str, Any] | None:
        """What the job said of itself when it was last asked: the jobs of its file, as ``/status`` has them."""
        with self._lock:
            return self._of(pipeline).status

    def process(self, pipeline: str) -> JobProcess | None:
        found = known_process(JobFolder(self._root, pipeline))
        return found if found is not None and found.is_alive else None

    def forget(self, pipeline: str) -> None:
        with self._lock:
            self._watched.pop(pipeline, None)

    def find_jobs(self) -> None:
        """Jobs whose folders are there and of which the registry knows nothing are taken into it, with their versions."""
        known = {one.pipeline for one in self._registry.deployments()}
        for folder in job_folders(self._root):
            if folder.pipeline in known:
                continue
            card = read_note(folder.card)
            self._registry.put_pipeline(folder.pipeline, str(card.get("owner", "")), str(card.get("description", "")))
            newest = 0
            for _, text in folder.versions():
                newest = self._registry.add_version(folder.pipeline, text, "found in its folder", "")
            if newest:
                runs = self._is_running(folder.pipeline)
                wanted = RUNNING if runs or card.get("desired") == RUNNING else STOPPED
                self._registry.want(folder.pipeline, wanted, int(card.get("version", newest)))
                self._registry.add_event("job.found", folder.pipeline, "found by its folder; the registry did not know it", "warning")

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
        self._processes.reap()
        for deployment in self._registry.deployments():
            try:
                with self._lock:
                    self._step(deployment, time.monotonic())
            except OSError as error:
                self._registry.observe(deployment.pipeline, FAILED, f"the job could not be started: {error}")
        with self._lock:
            self._watched = {name: one for name, one in self._watched.items() if self._registry.deployment(name) is not None}

    def _step(self, deployment: Deployment, now: float) -> None:
        name, folder = deployment.pipeline, JobFolder(self._root, deployment.pipeline)
        watched, process = self._of(name), known_process(folder)
        runs = process is not None and process.is_alive
        if process is not None and not runs and watched.ended_run != process.run:
            watched.ended_run, watched.status = process.run, None
            self._note_end(deployment, watched, process, ending_of(folder, process), now)
            deployment = self._registry.deployment(name) or deployment
        if deployment.desired == STOPPED:
            self._stop(deployment, watched, process if runs else None, now)
        elif runs and process is not None:
            self._attend(deployment, watched, process, folder, now)
        elif deployment.observed not in (FAILED, ENDED) and now >= watched.start_at:
            self._start(deployment, watched, folder)

    def _attend(self, deployment: Deployment, watched: _Watched, process: JobProcess, folder: JobFolder, now: float) -> None:
        """The job runs, as it should. One of another version is stopped first; the next look starts the right one."""
        if process.version != deployment.version or process.run == watched.stopping_run:
            self._signal(deployment, watched, process, now)
            return
        if now - watched.asked_at >= LOOK_SECONDS:
            watched.asked_at = now
            self._asking.submit(self._ask, deployment.pipeline, folder.socket)
        states = {str(job.get("state")) for job in (watched.status or {}).get("jobs", ())}
        observed = "starting" if not states else next((s for s in ("failed", "waiting", "starting") if s in states), "running")
        errors = [str(job["error"]) for job in (watched.status or {}).get("jobs", ()) if job.get("error")]
        if observed != deployment.observed:
            self._registry.add_event("job.state", deployment.pipeline, f"{deployment.observed} -> {observed}")
        self._registry.observe(deployment.pipeline, observed, "; ".join(errors))

    def _ask(self, pipeline: str, socket: Path) -> None:
        found = ask(socket, "/status")
        with self._lock:
            if found is not None:
                self._of(pipeline).status = found

    def _start(self, deployment: Deployment, watched: _Watched, folder: JobFolder) -> None:
        version = self._registry.version(deployment.pipeline, deployment.version)
        if version is None:
            self._registry.observe(deployment.pipeline, FAILED, f"there is no version {deployment.version}")
            return
        folder.write_sql(version.n, version.sql)
        process = self._processes.start(folder, version.n, now_millis())
        watched.status, watched.stopping_run, watched.stop_since, watched.signals = None, None, None, 0
        self._registry.begin_run(process.run, deployment.pipeline, version.n, process.host.pid, process.started_at)
        self._registry.observe(deployment.pipeline, STARTING)
        self._registry.add_event("job.started", deployment.pipeline, f"version {version.n}, process {process.host.pid}")

    def _stop(self, deployment: Deployment, watched: _Watched, process: JobProcess | None, now: float) -> None:
        if process is not None:
            self._signal(deployment, watched, process, now)
            return
        watched.stop_since, watched.signals, watched.start_at = None, 0, 0.0
        if deployment.observed not in (STOPPED, FAILED, ENDED):
            self._registry.observe(deployment.pipeline, STOPPED)
            self._registry.add_event("job.state", deployment.pipeline, f"{deployment.observed} -> {STOPPED}")

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
                self._registry.add_event("job.slow_stop", deployment.pipeline, f"sent {number.name} after {waited:.0f} s", "warning")
        self._registry.observe(deployment.pipeline, STOPPING)

    def _note_end(self, deployment: Deployment, watched: _Watched, process: JobProcess, ending: Ending, now: float) -> None:
        name = deployment.pipeline
        self._registry.begin_run(process.run, name, process.version, process.host.pid, process.started_at)
        is_news = self._registry.end_run(process.run, ending.code, ending.message)
        if not is_news or deployment.desired == STOPPED or process.run == watched.stopping_run or process.version != deployment.version:
            return
        if ending.code == 0:
            self._registry.observe(name, ENDED, "its input ended")
            self._registry.add_event("job.ended", name, "its input ended")
            return
        how = f"exit code {ending.code}" if ending.code is not None else "killed"
        told = ending.message or how
        at = None if is_permanent(ending.code, ending.message) else watched.restarts.next(now)
        if at is None:
            why = told if is_permanent(ending.code, ending.message) else f"ended {self._rule.budget} times within an hour; last: {told}"
            self._registry.observe(name, FAILED, why)
            self._registry.add_event("job.failed", name, why, "error")
            return
        watched.start_at = at
        self._registry.observe(name, RESTARTING, f"{told}; started again in {at - now:.0f} s")
        self._registry.add_event("job.restarting", name, f"{told}; started again in {at - now:.0f} s", "warning")

    def _of(self, pipeline: str) -> _Watched:
        return self._watched.setdefault(pipeline, _Watched(Restarts(self._rule)))

    def _is_running(self, pipeline: str) -> bool:
        return self.process(pipeline) is not None


def note_deployment(folder: JobFolder, version: int, desired: str, owner: str, description: str) -> None:
    """For a server that has lost its registry."""
    write_note(folder.card, {"version": version, "desired": desired, "owner": owner, "description": description})
