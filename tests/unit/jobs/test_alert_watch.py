"""A job judges the alerts of its own file: each change is one event, and how they stand is in its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import windrow
from tests.unit.serving.statuses import status
from windrow.jobs.alert_watch import ALERTS, AlertWatch, alerts_about, read_alerts
from windrow.model.notes import MetricType
from windrow.observe.alerts import FIRING, PENDING, QUIET
from windrow.observe.event import TYPES, Event
from windrow.observe.row_metrics import MetricTotal
from windrow.observe.status import JobStatus
from windrow.storage import LocalFolder

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH ('connector' = 'generator', 'event.time.field' = 'ts');
-- @metric: dear
-- @alert: TooDear
-- @alert_condition: RATE(dear, '1m') > 0.5
-- @alert_for: 10s
-- @alert_level: critical
-- @alert_text: too many
-- @alert: Behind
-- @alert_condition: windrow_job_watermark_lag_seconds > 60
-- @alert_level: info
CREATE STREAM out AS SELECT symbol, price FROM trades;
"""
OTHER = """
CREATE STREAM clicks (page STRING, ts TIMESTAMP) WITH ('connector' = 'generator', 'event.time.field' = 'ts');
-- @metric: pages
-- @alert: TooManyPages
-- @alert_condition: RATE(pages) > 5
CREATE STREAM seen AS SELECT page FROM clicks;
"""


class Watched:
    """A job whose counter stands where the test puts it, at a time that the test says."""

    def __init__(self, folder: Path) -> None:
        plan = windrow.compile(SQL).plan
        self.now, self.dear, self.lag = 1000.0, 0.0, 0.0
        self.events: list[Event] = []
        self.folder = LocalFolder(folder)
        rules = alerts_about(plan, plan.jobs[0], 120)
        self.job = plan.jobs[0].name
        self.watch = AlertWatch(self.job, rules, self.folder, self._status, self.events.append, lambda: self.now)

    def _status(self) -> JobStatus:
        told = status(lag_seconds=self.lag, metrics={"dear": MetricTotal(MetricType.COUNTER, (), (), {(): (self.dear,)})})
        return replace(told, job=self.job)

    def run(self, seconds: int, dear: float) -> None:
        """So many rows a second are dear."""
        for _ in range(seconds // 5):
            self.now += 5
            self.dear += 5 * dear
            self.watch.look()

    @property
    def states(self) -> dict[str, str]:
        return {one.rule: one.state for one in read_alerts(self.folder)}


def test_an_alert_is_pending_then_fires_and_is_over(tmp_path: Path) -> None:
    shop = Watched(tmp_path)
    shop.run(60, dear=0)
    assert (shop.states, shop.events) == ({"TooDear": QUIET, "Behind": QUIET}, [])
    shop.run(40, dear=3)
    firing = next(one for one in read_alerts(shop.folder) if one.rule == "TooDear")
    assert (firing.state, shop.states["Behind"]) == (FIRING, QUIET)
    assert firing.value is not None
    assert firing.value > 0.5
    shop.run(120, dear=0)
    assert shop.states == {"TooDear": QUIET, "Behind": QUIET}
    assert [(one.type, one.level, one.job) for one in shop.events] == [
        ("alert.firing", "error", shop.job),
        ("alert.resolved", "info", shop.job),
    ]
    assert shop.events[0].message == "TooDear: too many"
    assert all(one.type in TYPES for one in shop.events)


def test_until_it_has_held_long_enough_an_alert_is_pending_and_untold(tmp_path: Path) -> None:
    shop = Watched(tmp_path)
    shop.run(30, dear=0)
    shop.run(20, dear=3)
    assert (shop.states["TooDear"], shop.events) == (PENDING, [])


def test_an_alert_of_the_state_of_the_job_fires_at_once(tmp_path: Path) -> None:
    shop = Watched(tmp_path)
    shop.lag = 61.0
    shop.run(5, dear=0)
    assert shop.states == {"TooDear": QUIET, "Behind": FIRING}
    assert [(one.type, one.level) for one in shop.events] == [("alert.firing", "warning")]


def test_each_job_of_a_file_judges_what_is_about_it() -> None:
    plan = windrow.compile(SQL + OTHER).plan
    about = [sorted(rule.name for rule in alerts_about(plan, job, 120)) for job in plan.jobs]
    assert sorted(about) == [["Behind", "TooDear"], ["Behind", "TooManyPages"]]


def test_a_fault_does_not_reach_the_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plan = windrow.compile(SQL).plan

    def fail() -> JobStatus:
        raise OSError("no more disk")

    AlertWatch("shop", alerts_about(plan, plan.jobs[0], 120), LocalFolder(tmp_path), fail, lambda _: None).look()
    assert "are not judged: OSError: no more disk" in caplog.text
    assert not (tmp_path / ALERTS).exists()


def test_a_file_without_alerts_leaves_nothing_behind(tmp_path: Path) -> None:
    plan = windrow.compile(OTHER.replace("-- @alert: TooManyPages\n", "").replace("-- @alert_condition: RATE(pages) > 5\n", "")).plan
    watch = AlertWatch("shop", alerts_about(plan, plan.jobs[0], 120), LocalFolder(tmp_path), status, lambda _: None)
    watch.begin()
    watch.close()
    assert read_alerts(LocalFolder(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []
