"""Events of OpenLineage from a running job: to a consumer over HTTP, or to a file.

They are made and sent by a thread of their own. A consumer that is away costs a few events in memory, and never a batch.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from windrow.errors import UsageError
from windrow.jobs.identity import Origin
from windrow.jobs.lineage_senders import Sender, sender_to
from windrow.jobs.options import LINEAGE_AS, LINEAGE_EVERY, LINEAGE_NAMESPACE, LINEAGE_URL, RunOptions
from windrow.lineage import Lineage
from windrow.lineage.openlineage import JobText, RunState, RunText, lineage_of_job, run_event
from windrow.observe.ledger import Ledger
from windrow.observe.status import ENDED, FAILED, JobStatus
from windrow.plan.stages import Job

LOG = logging.getLogger(__name__)
# What waits for a consumer that is away. The first event and the last ones say all there is, so those between make room.
MOST_WAITING = 50
# How long after a failure the next attempt is made, and how long the end of a job waits for a consumer.
RETRY_SECONDS = 10.0
CLOSE_SECONDS = 5.0


@dataclass(frozen=True)
class EventRules:
    """``interval_state`` is what an event between the first and the last one is called: some consumers only show COMPLETE."""

    interval: float = 300.0
    interval_state: RunState = RunState.RUNNING


@dataclass
class LineageEvents:
    """Of one job in one run. ``look`` gives its status; ``send`` raises an OSError where the consumer is away."""

    text: JobText
    lineage: Lineage
    run_id: str
    version: int
    look: Callable[[], JobStatus]
    send: Sender
    rules: EventRules = EventRules()
    now: Callable[[], float] = time.time
    # Without a thread somebody else calls ``work``.
    is_threaded: bool = True
    _before: Ledger = field(default_factory=Ledger)
    _waiting: deque[dict[str, Any]] = field(default_factory=deque)
    _lost: int = 0
    _failing_since: float | None = None
    _next_at: float = 0.0
    _retry_at: float = 0.0
    _wake: threading.Event = field(default_factory=threading.Event)
    _is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """The job has begun: what was counted before is not of this run."""
        if self._next_at == 0.0:
            self._before = Ledger.from_json(self.look().ledger.to_json())
            self._take(RunState.START)
            if self.is_threaded:
                self._thread = threading.Thread(target=self._run, name="windrow-lineage", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._is_over:
            self.work()
            due = self._next_at if not self._waiting else min(self._next_at, self._retry_at)
            self._wake.wait(max(0.05, due - self.now()))
            self._wake.clear()

    def work(self) -> None:
        """What is due now. A fault here must not reach the job."""
        try:
            with self._lock:
                if self.now() >= self._next_at:
                    self._take(self.rules.interval_state)
                if self.now() >= self._retry_at:
                    self._deliver()
        except Exception as error:
            LOG.warning("%s: no events of lineage: %s: %s", self.text.name, type(error).__name__, error)

    def close(self) -> None:
        """The last event says how the run ended; what the consumer does not take in time is lost."""
        if self._next_at == 0.0 or self._is_over:
            return
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
        last = threading.Thread(target=self._finish, name="windrow-lineage-end", daemon=True)
        last.start()
        last.join(CLOSE_SECONDS)
        if self._waiting:
            LOG.warning("%s: %d events of lineage were not delivered", self.text.name, len(self._waiting) + self._lost)

    def _finish(self) -> None:
        try:
            status = self.look()
            state = {ENDED: RunState.COMPLETE, FAILED: RunState.FAIL}.get(status.state, RunState.ABORT)
            with self._lock:
                self._take(state, status.error if state is RunState.FAIL else None)
                self._deliver()
        except Exception as error:
            LOG.warning("%s: no last event of lineage: %s: %s", self.text.name, type(error).__name__, error)

    def _take(self, state: RunState, error: str | None = None) -> None:
        at = self.now()
        self._next_at = at + self.rules.interval
        ledger = self.look().ledger
        before = self._before
        run = RunText(
            state,
            self.run_id,
            datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
            self.version,
            version("windrow"),
            {name: one.rows_in - before.source(name).rows_in for name, one in ledger.sources.items()},
            {name: one.emitted - before.statement(name).emitted for name, one in ledger.statements.items()},
            error,
        )
        self._waiting.append(run_event(self.lineage, self.text, run))
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[1]
            self._lost += 1

    def _deliver(self) -> None:
        while self._waiting:
            try:
                self.send(self._waiting[0])
            except OSError as error:
                self._retry_at = self.now() + RETRY_SECONDS
                if self._failing_since is None:
                    self._failing_since = self.now()
                    LOG.warning("%s: the consumer of lineage does not take events: %s; it is tried again", self.text.name, error)
                return
            self._waiting.popleft()
            if self._failing_since is not None:
                LOG.info("%s: the consumer of lineage takes events again", self.text.name)
                self._failing_since = None


def lineage_events(
    job: Job, job_id: str, run: str, version_number: int, origin: Origin, options: RunOptions, look: Callable[[], JobStatus]
) -> LineageEvents | None:
    """None where no consumer is named."""
    url = options.setting(LINEAGE_URL)
    if not url:
        return None
    _check_url(url)
    annotations: Mapping[str, str] = {str(one["key"]).lower(): str(one["value"]) for one in origin.annotations}
    text = JobText.of(job.name, origin.sql, annotations, options.setting(LINEAGE_NAMESPACE))
    rules = EventRules(float(options.setting(LINEAGE_EVERY)), RunState[options.setting(LINEAGE_AS).upper()])
    run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"windrow:{job_id}:{run}"))
    return LineageEvents(text, lineage_of_job(job, job.name), run_id, version_number, look, sender_to(url), rules)


def _check_url(url: str) -> None:
    """Said at the start, and not in the log."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and parts.hostname:
        return
    if parts.scheme in ("", "file") and parts.path:
        return
    raise UsageError(
        "WR615",
        f'"{LINEAGE_URL}" = "{url}" is neither an address nor a file',
        f"--set {LINEAGE_URL}=http://localhost:5000, or {LINEAGE_URL}=lineage.jsonl",
    )
