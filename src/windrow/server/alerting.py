"""Alerts of all jobs: their metrics are asked for, their rules judged over them, and what has changed is kept and told.

A rule is what ``windrow ops rules`` gives to Prometheus, judged over what a scrape of the job says. What a job that is not there cannot say
(that it has failed, how often it was started) the server says in its place, as samples of the same series.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from windrow.errors import WindrowError
from windrow.jobs.options import RunOptions
from windrow.observe import instruments as of
from windrow.observe.alert_rules import AlertRule, looked_back, rules_of
from windrow.observe.alerts import PENDING, RESOLVED, Alert, Held, Step, next_states
from windrow.observe.instruments import JOB
from windrow.observe.series import Labels, SeriesStore, read_exposition
from windrow.server.agent import ask_text
from windrow.server.alert_book import AlertBook, RuleChange
from windrow.server.alert_rules import changed
from windrow.server.alert_settings import RuleSettings
from windrow.server.database import LOST
from windrow.server.reconciler import FAILED
from windrow.server.registry import RUNNING, Deployment
from windrow.server.service import Service
from windrow.server.texts import Text, environment_of

LOG = logging.getLogger(__name__)
EVERY_SECONDS = 15.0
_ASKED_AT_ONCE = 8
_LOOKS_BETWEEN_TIDYING = 240
_LEVEL_OF_EVENT = {"info": "info", "warning": "warning"}
Sample = tuple[str, Labels, float]


class Alerting:
    """``settings`` are what every job is started with, ``rules`` those that the file of alerts changes; ``tell`` is called when something
    may have to be told.
    """

    def __init__(
        self,
        service: Service,
        settings: Mapping[str, str] | None = None,
        rules: Mapping[str, RuleSettings] | None = None,
        every: float = EVERY_SECONDS,
    ) -> None:
        self.book = AlertBook(service.registry.database)
        self.tell: Callable[[], None] = lambda: None
        self._service = service
        self._settings = dict(settings or {})
        self._of_file = {name: RuleChange(name, one.on, one.hold_seconds, one.level) for name, one in (rules or {}).items()}
        self._every = every
        self._stores: dict[str, SeriesStore] = {}
        self._looks = 0
        self._closing = threading.Event()
        self._asking = ThreadPoolExecutor(_ASKED_AT_ONCE, "windrow-metrics")
        self._thread: threading.Thread | None = None
        self._rules = lru_cache(maxsize=256)(self._rules_at)

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._loop, name="windrow-alerts", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join(10)
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _loop(self) -> None:
        while not self._closing.wait(self._every):
            try:
                self.look(time.time())
            except LOST as error:
                LOG.warning("alerts are not judged: the registry does not answer: %s", error)
            except Exception:
                LOG.exception("judging the alerts failed")

    # One look

    def look(self, at: float) -> None:
        """``at`` is in seconds since the epoch, and never less than before."""
        deployments = self._service.registry.deployments()
        texts = dict(zip(deployments, self._asking.map(self._metrics, deployments), strict=True))
        changes, active = self.rule_changes(), self.book.active()
        for deployment in deployments:
            own = [one for one in active if one.job == deployment.name]
            try:
                self._judge(deployment, own, texts[deployment], changes, at)
            except (WindrowError, ValueError) as error:
                LOG.warning("the alerts of %s are not judged: %s", deployment.name, error)
        there = {one.name for one in deployments}
        self._stores = {name: store for name, store in self._stores.items() if name in there}
        for alert in (one for one in active if one.job not in there):
            self._keep(alert.job, next_states([alert], [], alert.job, int(at * 1000)))
        self._looks += 1
        if self._looks % _LOOKS_BETWEEN_TIDYING == 0:
            self.book.tidy()
        self.tell()

    def _metrics(self, deployment: Deployment) -> str | None:
        if deployment.desired != RUNNING or self._service.reconciler.process(deployment.name) is None:
            return None
        return ask_text(self._service.folder(deployment.name).socket, "/metrics")

    def _judge(self, deployment: Deployment, known: list[Alert], text: str | None, changes: Mapping[str, RuleChange], at: float) -> None:
        now = int(at * 1000)
        if deployment.desired != RUNNING:
            self._keep(deployment.name, next_states(known, [], deployment.name, now))
            return
        rules = changed(self.every_rule(deployment), changes)
        store = self._stores.setdefault(deployment.name, SeriesStore({}))
        store.want(looked_back(rules))
        self._fill(store, deployment, text, at)
        held: list[Held] = [one for rule in rules for one in rule.held(store, at)]
        unknown = frozenset(rule.name for rule in rules if not rule.is_known(store, at))
        self._keep(deployment.name, next_states(known, held, deployment.name, now, unknown))

    def _fill(self, store: SeriesStore, deployment: Deployment, text: str | None, at: float) -> None:
        names, runs = self._job_names(deployment), self._service.registry.runs(deployment.name)
        for run in reversed(runs):
            # Of those, too, that ended before anybody asked them.
            for labels in names:
                store.note(of.STARTED.full_name, labels, run.started_at / 1000, run.started_at / 1000)
        here = _known_here(names, runs[0].started_at / 1000 if runs else None, is_failed=deployment.observed == FAILED)
        store.take(at, [*here, *self._scraped(text, store)])

    def _scraped(self, text: str | None, store: SeriesStore) -> Iterator[Sample]:
        wanted = {name: back for name, back in store.keep.items() if name != of.STARTED.full_name}
        return read_exposition(text or "", wanted)

    def _keep(self, job: str, step: Step) -> None:
        if step.put:
            self.book.put(step.put)
        if step.dropped:
            self.book.drop(step.dropped)
        for one in step.put:
            if one.state != PENDING:
                level = "info" if one.state == RESOLVED else _LEVEL_OF_EVENT.get(one.level, "error")
                self._service.registry.add_event(f"alert.{one.state}", job, f"{one.rule}: {one.summary}", level)

    # What holds

    def rule_changes(self) -> dict[str, RuleChange]:
        """What the file of alerts says, and over it what was asked for since."""
        return {**self._of_file, **self.book.rule_changes()}

    def every_rule(self, deployment: Deployment) -> tuple[AlertRule, ...]:
        flags = tuple(sorted(self._service.books.flags(deployment.env).items()))
        return self._rules(deployment.name, deployment.version, deployment.env, flags)

    def _rules_at(self, name: str, number: int, env: str, flags: tuple[tuple[str, str], ...]) -> tuple[AlertRule, ...]:
        version = self._service.version(name, number)
        settings = dict(self._settings)
        if version.project:
            values = {**self._service.environment, **dict(flags)}
            settings |= environment_of(Text.of(version, env), values).settings
        known = {key: value for key, value in settings.items() if not key.startswith("spark.")}
        return rules_of(self._service.compiled(name, version).plan, RunOptions(settings=known).stalled_after)

    def _job_names(self, deployment: Deployment) -> list[Labels]:
        return [((JOB, job.name),) for job in self._service.compiled(deployment.name).plan.jobs]


def _known_here(names: Iterable[Labels], started_at: float | None, *, is_failed: bool) -> Iterator[Sample]:
    for labels in names:
        if started_at is not None:
            yield of.STARTED.full_name, labels, started_at
        if is_failed:
            yield of.JOB_STATE.full_name, tuple(sorted((*labels, ("state", "failed")))), 1.0
