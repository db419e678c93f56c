"""A real Prometheus scrapes listening jobs, and a real Alertmanager is told of every alert and that it is over. Needs no Spark."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.prometheus import IS_INSTALLED, Watched, await_that, watching
from tests.unit.serving.statuses import status
from windrow.model.expr import Binary, Call, Column, Literal
from windrow.model.notes import Alert, Metric, MetricType
from windrow.observe.distribution import Distribution
from windrow.observe.ledger import Account, Ledger
from windrow.observe.row_metrics import MetricTotal
from windrow.observe.rules import rule_groups
from windrow.observe.status import FAILED, JobStatus, Measured, OperatorStatus, RunCounts, SourceStatus, StateSize, TableLoad
from windrow.resilience import OPEN, SystemState
from windrow.serving import Listen, Serving

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="Prometheus is not installed")
# A minute of a rule is two seconds of the test.
FASTER = 30
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# What a counter has reached when the test begins, so that a past can be written that leads there.
REACHED = 1_000_000
OWN = Alert("TooDear", Binary(">", Call("RATE", (Column("dear"),)), Literal(5)), level="critical", text="too many")


@dataclass
class Job:
    """A job that an alert is about, called like it: well until ``is_broken``. ``used`` is the share of a limit of its state."""

    alert: str
    used: float = 0.0
    began: float = field(default_factory=time.time)
    is_broken: bool = False
    # What a counter has reached, when it was looked at last, and whether its job was broken then.
    _reached: dict[str, float] = field(default_factory=dict)
    _looked: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.alert}-{self.used:.0%}" if self.used else self.alert

    def statuses(self) -> list[JobStatus]:
        now = time.time()
        since, self._looked = now - (self._looked or now), now
        if self.is_broken and self.alert == "WindrowJobGone":
            return []
        rows = self._count("rows", since, 100, 10 if self.alert == "WindrowThroughputDrop" else 100)
        seconds = self._count("seconds", since, 0.1, 1.5 if self.alert in ("WindrowFallingBehind", "WindrowSinkSlow") else 0.1)
        event_time = self._count("event time", since, 1, 0 if self.alert == "WindrowWatermarkStalled" else 1)
        told: dict[str, Any] = {
            "started_at": self.began,
            "committed_at": now,
            "batch_since": None,
            "stale_tables": {},
            "systems": (),
            "limits": {},
            "operators": (OperatorStatus("out", "aggregate", state=StateSize(1, 1000, 1)),),
            "sources": (SourceStatus("orders", backlog={"0": 10}),),
            "ledger": Ledger({"orders": Account(rows_in=int(rows), passed=int(rows))}, {"out": Account()}),
            "counts": RunCounts(watermark_advanced=event_time),
            "distributions": (_took("batch_duration_seconds", (), seconds),),
        }
        told.update(self._broken(now, since, rows, seconds))
        return [replace(status(**told), job=self.name)]

    def _count(self, what: str, since: float, well: float, broken: float) -> float:
        """A counter that grows by so much in a second."""
        self._reached[what] = self._reached.get(what, REACHED) + since * (broken if self.is_broken else well)
        return self._reached[what]

    def _broken(self, now: float, since: float, rows: float, seconds: float) -> Mapping[str, Any]:
        set_aside = int(self._count("aside", since, 0, 20))
        if self.alert == "WindrowDeadLetterRatio":
            dead = Account(rows_in=int(rows), passed=int(rows) - set_aside, dead=Counter(WR701=set_aside))
            return {"ledger": Ledger({"orders": dead}, {"out": Account()})}
        if self.alert == "WindrowLateRatio":
            late = Account(rows_in=int(rows), passed=int(rows), late_corrected=set_aside)
            return {"ledger": Ledger({"orders": Account(rows_in=int(rows), passed=int(rows))}, {"out": late})}
        if self.alert == "WindrowFilesUnread":
            torn = Account(rows_in=int(rows), passed=int(rows), unread_files=set_aside)
            return {"ledger": Ledger({"orders": torn}, {"out": Account()})}
        if self.alert == "WindrowTraceLoss":
            with_context = rows - REACHED - set_aside
            return {"counts": RunCounts(watermark_advanced=seconds, traced_rows=int(rows), with_context=int(with_context))}
        if self.alert == OWN.name:
            return {"metrics": {"dear": MetricTotal(MetricType.COUNTER, (), (), {(): (float(set_aside),)})}}
        if not self.is_broken:
            return {}
        match self.alert:
            case "WindrowJobFailed":
                return {"state": FAILED}
            case "WindrowRestartLoop":
                return {"started_at": now}
            case "WindrowLedgerUnbalanced":
                return {"ledger": Ledger({"orders": Account(rows_in=int(rows), passed=int(rows) - 1)}, {"out": Account()})}
            case "WindrowNoProgress":
                return {"batch_since": now - 1000}
            case "WindrowFallingBehind":
                return {"sources": (SourceStatus("orders", backlog={"0": 10 + int(1000 * (now - self.began))}),)}
            case "WindrowSinkSlow":
                sink = _took("sink_duration_seconds", ("out",), 0.9 * seconds)
                return {"distributions": (_took("batch_duration_seconds", (), seconds), sink)}
            case "WindrowSystemDown":
                return {"systems": (SystemState("Kafka", OPEN, 5, "nobody answers", None, 9),)}
            case "WindrowTableStale":
                return {"tables": (TableLoad("rates", 50, 100, 1.0, is_done=True),), "stale_tables": {"rates": "torn"}}
            case "WindrowStateNearLimit":
                return {"limits": {"state.max_bytes": 1000}, "state_bytes": int(1000 * self.used)}
            case "WindrowStateGrowth":
                return {"operators": (OperatorStatus("out", "aggregate", state=StateSize(1, 2000, 1)),)}
        return {}


def _took(name: str, labels: tuple[str, ...], seconds: float) -> Measured:
    values = Distribution()
    values.total = seconds
    return Measured(name, labels, values)


def _scaled(text: str) -> str:
    """A length of time in a rule, as many times shorter."""
    return re.sub(r"(?<=[\[: ])(\d+)([smhd])\b|^(\d+)([smhd])$", lambda m: f"{_millis(m[1] or m[3], m[2] or m[4])}ms", text)


def _millis(number: str, unit: str) -> int:
    return int(number) * UNITS[unit] * 1000 // FASTER


def _rules(jobs: list[str]) -> dict[str, Any]:
    groups = rule_groups(jobs, [Metric("dear", MetricType.COUNTER)], [OWN])
    for rule in (rule for group in groups["groups"] for rule in group["rules"]):
        rule["expr"], rule["for"] = _scaled(rule["expr"]), _scaled(rule["for"])
    return groups


def _past(jobs: list[str], instance: str) -> str:
    """What jobs did in the day before, as OpenMetrics: rules that look back would need a test as long."""
    now = int(time.time())
    lines = []
    for name, kind, more, value in (
        ("windrow_rows_in", "counter", 'source="orders"', lambda at: REACHED + 100 * at),
        ("windrow_hot_state_size_bytes", "gauge", 'statement="out"', lambda _: 1000),
    ):
        lines.append(f"# TYPE {name} {kind}")
        series = f"{name}{'_total' if kind == 'counter' else ''}"
        for job in jobs:
            labels = f'job="windrow",instance="{instance}",job_name="{job}",{more}'
            lines += [f"{series}{{{labels}}} {value(at)} {now + at}" for at in range(-(UNITS["d"] + 2 * UNITS["h"]) // FASTER, 1)]
    return "\n".join([*lines, "# EOF\n"])


def _watching(serving: Serving, jobs: list[str], folder: Path) -> AbstractContextManager[Watched]:
    target = serving.address.removeprefix("http://")
    past = _past([name for name in jobs if name in ("WindrowThroughputDrop", "WindrowStateGrowth")], target)
    return watching(target, _rules(jobs), folder, past)


@pytest.mark.slow
def test_every_alert_is_told_and_resolved(tmp_path: Path) -> None:
    rules = [rule for group in rule_groups(["any"], [Metric("dear", MetricType.COUNTER)], [OWN])["groups"] for rule in group["rules"]]
    names = dict.fromkeys(rule["alert"] for rule in rules)
    near = "WindrowStateNearLimit"
    jobs = [*(Job(name) for name in names if name != near), *(Job(near, used) for used in (0.75, 0.9, 0.99))]
    serving = Serving(Listen("127.0.0.1", 0))
    serving.watch(lambda: [one for job in jobs for one in job.statuses()])
    levels = {rule["alert"]: rule["labels"]["severity"] for rule in rules}
    wanted = {(job.alert, job.name, levels[job.alert]) for job in jobs if job.alert != near}
    wanted |= {(near, f"{near}-75%", "warning"), (near, f"{near}-90%", "critical"), (near, f"{near}-99%", "emergency")}
    with ExitStack() as stack:
        stack.callback(serving.close)
        watched = stack.enter_context(_watching(serving, [job.name for job in jobs], tmp_path))
        await_that(lambda: (watched.value("count(windrow_rows_in_total)") or 0) == len(jobs), lambda: "jobs are not scraped", watched.log)
        await_that(lambda: not watched.told(), watched.told, watched.log)
        for job in jobs:
            job.is_broken = True
        await_that(lambda: watched.told() >= wanted, lambda: f"nobody was told of {wanted - watched.told()}", watched.log)
        assert watched.told() == wanted, "alerts about jobs that are well otherwise"
        for job in jobs:
            job.is_broken = False
        await_that(lambda: not watched.told(), lambda: f"not resolved: {watched.told()}", watched.log)


def test_a_job_that_fails_is_told_and_resolved(tmp_path: Path) -> None:
    job = Job("WindrowJobFailed")
    serving = Serving(Listen("127.0.0.1", 0))
    serving.watch(job.statuses)
    with ExitStack() as stack:
        stack.callback(serving.close)
        watched = stack.enter_context(_watching(serving, [job.name], tmp_path))
        await_that(lambda: watched.value("windrow_rows_in_total") is not None, lambda: "the job is not scraped", watched.log)
        assert not watched.told()
        job.is_broken = True
        await_that(lambda: watched.told() == {(job.alert, job.name, "critical")}, lambda: f"nobody was told: {watched.told()}", watched.log)
        job.is_broken = False
        await_that(lambda: not watched.told(), lambda: f"not resolved: {watched.told()}", watched.log)
