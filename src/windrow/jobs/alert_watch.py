"""Judges the ``@alert``s of a file while its job runs: a change is an event, and how each stands is a small file beside the state.

It tells nobody else: that is for Prometheus, by ``windrow ops rules``, or for a server.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from windrow.model.notes import Metric
from windrow.observe.alert_rules import AlertRule, looked_back, rules_of
from windrow.observe.alerts import FIRING, PENDING, RESOLVED, Alert, RuleState, next_states
from windrow.observe.event import ERROR, INFO, WARNING, Event
from windrow.observe.instruments import JOB
from windrow.observe.prometheus import series_of
from windrow.observe.row_metrics import exposed_name
from windrow.observe.series import SeriesStore
from windrow.observe.status import JobStatus
from windrow.plan.stages import Job, Plan
from windrow.storage import Folder, StorageError

ALERTS = "alerts.json"
EVERY_SECONDS = 5.0
LOG = logging.getLogger(__name__)
_PARTS = ("_bucket", "_sum", "_count")
_MILD = ("info", "warning")


def alerts_about(plan: Plan, job: Job, stalled: float) -> tuple[AlertRule, ...]:
    """The file's own alerts, without those about metrics of its other jobs."""
    if not plan.alerts:
        return ()
    own = _exposed(metric for _, metric in job.metrics)
    elsewhere = _exposed(metric for _, metric in plan.metrics) - own
    return tuple(rule for rule in rules_of(plan, stalled) if rule.is_own and not elsewhere & rule.looks_back.keys())


def _exposed(metrics: Iterable[Metric]) -> set[str]:
    names = {exposed_name(metric.name, metric.type) for metric in metrics}
    return names | {name + part for name in names for part in _PARTS}


class AlertWatch:
    """``look`` gives the status with all that metrics are made of; ``tell`` takes the events."""

    def __init__(
        self,
        job: str,
        rules: Sequence[AlertRule],
        folder: Folder,
        look: Callable[[], JobStatus],
        tell: Callable[[Event], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._job, self._rules, self._folder = job, rules, folder
        self._look, self._tell, self._clock = look, tell, clock
        self._store = SeriesStore(looked_back(rules))
        self._active: dict[str, Alert] = {}
        self._states: dict[str, RuleState] = {}
        self._is_over = threading.Event()
        self._lock = threading.Lock()

    def begin(self) -> None:
        if self._rules:
            threading.Thread(target=self._watch, name="windrow-alerts", daemon=True).start()

    def _watch(self) -> None:
        while not self._is_over.wait(EVERY_SECONDS):
            self.look()

    def look(self) -> None:
        """A fault here must not reach the job."""
        try:
            with self._lock:
                self._judge()
        except Exception as error:
            LOG.warning("the alerts of job %s are not judged: %s: %s", self._job, type(error).__name__, error)

    def close(self) -> None:
        self._is_over.set()
        if self._rules:
            self.look()

    def _judge(self) -> None:
        now, status = self._clock(), self._look()
        self._store.take(now, series_of([status], self._store.keep))
        held = [one for rule in self._rules for one in rule.held(self._store, now)]
        unknown = frozenset(rule.name for rule in self._rules if not rule.is_known(self._store, now))
        step = next_states(list(self._active.values()), held, self._job, int(now * 1000), unknown)
        for one in step.put:
            self._active[one.id] = one
            if one.state != PENDING:
                self._tell(_event(one, status.batch_id, now))
        for one in (*step.dropped, *(one for one in step.put if one.state == RESOLVED)):
            del self._active[one.id]
        self._keep(now, {one.rule: one.changed_at for one in step.put if one.state == RESOLVED})

    def _keep(self, now: float, resolved: dict[str, int]) -> None:
        """Written when an alert has changed: elsewhere than on a local disk that is not for nothing."""
        active = {one.rule: one for one in self._active.values()}
        known = {}
        for rule in self._rules:
            before = self._states.get(rule.name, RuleState(rule.name, rule.level, rule.summary_of({JOB: self._job})))
            known[rule.name] = before.now(active.get(rule.name), resolved.get(rule.name))
        if known != self._states:
            self._states = known
            told = {"at": int(now * 1000), "alerts": [one.to_json() for one in known.values()]}
            self._folder.replace_atomically(ALERTS, json.dumps(told).encode(), durable=False)


def read_alerts(folder: Folder) -> list[RuleState]:
    """How the alerts of a job stand, or stood when it ended; none where its file has none."""
    try:
        told = json.loads(folder.read(ALERTS)) if folder.exists(ALERTS) else {}
    except (StorageError, ValueError):
        return []
    return [RuleState.from_json(one) for one in told.get("alerts", [])]


def _event(alert: Alert, batch_id: int, now: float) -> Event:
    is_firing = alert.state == FIRING
    level = INFO if not is_firing else WARNING if alert.level in _MILD else ERROR
    details = {"alert": alert.rule, "level": alert.level, "value": alert.value}
    return Event(f"alert.{alert.state}", level, alert.job, batch_id, f"{alert.rule}: {alert.summary}", now, details)
