"""Alerts of a server as they are judged: over what jobs say, pending, firing, over; and what people do about them. Without Spark."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.server.conftest import Server
from tests.unit.server.test_reconciler import observed, runs, until
from tests.unit.serving.statuses import status
from windrow.model.notes import MetricType
from windrow.observe.alerts import Held, next_states
from windrow.observe.ledger import Account, Ledger
from windrow.observe.row_metrics import MetricTotal
from windrow.observe.status import JobStatus
from windrow.resilience import OPEN, SystemState
from windrow.server.alert_book import AlertBook
from windrow.server.alerting import Alerting
from windrow.server.registry import now_millis
from windrow.serving import Listen, Serving

DOWN = {"systems": (SystemState("Kafka", OPEN, 5, "nobody answers", None, 9),)}
OWN_ALERT = """-- @owner: ada
CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');
-- @metric: dear
-- @alert: TooDear
-- @alert_condition: dear > 5
-- @alert_level: critical
-- @alert_text: somebody buys everything
CREATE STREAM shop AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
"""


class Job:
    """What the process of a deployment would answer; ``told`` is changed by a test."""

    def __init__(self, server: Server, name: str = "orders", job: str = "orders") -> None:
        self.told: dict[str, Any] = {}
        self._job = job
        self._serving = Serving(Listen(path=str(server.service.folder(name).socket)))
        self._serving.watch(self._statuses)

    def _statuses(self) -> list[JobStatus]:
        rows = Account(rows_in=100, passed=100)
        usual: dict[str, Any] = {"committed_at": time.time(), "batch_since": None, "systems": (), "stale_tables": {}, "limits": {}}
        usual |= {"ledger": Ledger({"t": rows}, {"out": Account()}), "operators": (), "sources": (), "counts": status().counts}
        return [replace(status(**{**usual, **self.told}), job=self._job)]

    def close(self) -> None:
        self._serving.close()


@pytest.fixture
def job(server: Server) -> Iterator[Job]:
    server.deploy()
    until(server, runs(server))
    made = Job(server)
    yield made
    made.close()


class Clock:
    """Seconds of the test's own, from now on: metrics carry the time of the machine."""

    def __init__(self, alerting: Alerting) -> None:
        self._alerting = alerting
        self.at = time.time()

    def look(self, *, after: float = 15.0, times: int = 1) -> None:
        for _ in range(times):
            self.at += after
            self._alerting.look(self.at)


def listed(server: Server) -> list[tuple[str, str]]:
    found: Any = server.ask("GET", "/alerts", "read")
    return [(one["rule"], one["state"]) for one in found]


def the_one(server: Server, path: str = "/alerts") -> dict[str, Any]:
    found: Any = server.ask("GET", path, "read")
    assert len(found) == 1
    only: dict[str, Any] = found[0]
    return only


# What is judged


def test_a_rule_is_pending_then_fires_then_is_over(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    clock.look()
    assert listed(server) == []
    job.told = DOWN
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "pending")]
    clock.look(times=7)
    assert listed(server) == [("WindrowSystemDown", "pending")]
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "firing")]
    told = the_one(server, "/alerts?state=firing")
    assert (told["job"], told["labels"]["system"], told["level"]) == ("orders", "Kafka", "warning")
    assert told["summary"] == "Kafka does not answer job orders"
    job.told = {}
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "resolved")]
    assert [one.type for one in server.registry.events() if one.type.startswith("alert.")] == ["alert.firing", "alert.resolved"]


def test_what_ends_before_it_fires_leaves_no_trace(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    job.told = DOWN
    clock.look()
    job.told = {}
    clock.look()
    assert listed(server) == []
    assert not [one for one in server.registry.events() if one.type.startswith("alert.")]


def test_the_same_again_is_another_alert_of_the_history(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    for _ in range(2):
        job.told = DOWN
        clock.look(times=10)
        job.told = {}
        clock.look()
    assert listed(server) == [("WindrowSystemDown", "resolved")] * 2


def test_a_job_that_failed_is_told_and_the_rest_of_it_is_not(server: Server, alerting: Alerting) -> None:
    server.programs.program = "import sys; print('[WR804] the state belongs to other statements'); sys.exit(2)"
    server.deploy()
    until(server, lambda: observed(server) == "failed")
    clock = Clock(alerting)
    clock.look(times=25)
    found: Any = server.ask("GET", "/alerts", "read")
    states = {one["rule"]: (one["state"], one["is_inhibited"]) for one in found}
    assert states == {"WindrowJobFailed": ("firing", False), "WindrowJobGone": ("firing", True)}
    server.service.stop("orders", "ada")
    clock.look()
    assert {state for _, state in listed(server)} == {"resolved"}


def test_a_job_that_is_started_again_and_again(server: Server, alerting: Alerting) -> None:
    server.programs.program = "import sys; print('[WR860] a broker does not answer'); sys.exit(1)"
    server.deploy()
    until(server, lambda: len(server.registry.runs("orders")) == 4)
    alerting.look(time.time() + 1)
    assert ("WindrowRestartLoop", "firing") not in listed(server)
    server.service.start("orders", "ada")
    until(server, lambda: len(server.registry.runs("orders")) >= 5)

    def is_told() -> bool:
        alerting.look(time.time() + 2)
        return ("WindrowRestartLoop", "firing") in listed(server)

    until(server, is_told)


def test_an_alert_of_the_file(server: Server, alerting: Alerting) -> None:
    server.deploy(sql=OWN_ALERT)
    until(server, runs(server))
    job = Job(server)
    clock = Clock(alerting)
    clock.look()
    job.told = {"metrics": {"dear": MetricTotal(MetricType.COUNTER, (), (), {(): (6.0,)})}}
    clock.look()
    job.close()
    assert listed(server) == [("TooDear", "firing")]
    rules: Any = server.ask("GET", "/alert-rules?job=orders", "read")
    told = rules[-1]
    assert (told["name"], told["is_own"], told["expression"]) == ("TooDear", True, 'sum by (job_name) (dear_total{job_name="orders"}) > 5')


def test_what_is_removed_has_no_alerts_any_more(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    job.told = DOWN
    clock.look(times=10)
    server.service.stop("orders", "ada")
    until(server, lambda: observed(server) == "stopped")
    server.service.remove("orders", "ada")
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "resolved")]


def test_a_server_that_starts_again_does_not_end_what_it_cannot_judge_yet(server: Server, alerting: Alerting, job: Job) -> None:
    before = AlertBook(server.registry.database)
    held = [
        Held("WindrowDeadLetterRatio", "warning", {"job_name": "orders"}, 1.0, 0, "many", ""),
        Held("WindrowTableStale", "warning", {"job_name": "orders", "table": "rates"}, 1.0, 0, "old", ""),
    ]
    before.put(next_states([], held, "orders", now_millis()).put)
    clock = Clock(alerting)
    clock.look(times=5)
    # The one looks back five minutes, the other asks for what is now.
    assert listed(server) == [("WindrowDeadLetterRatio", "firing"), ("WindrowTableStale", "resolved")]
    clock.look(times=20)
    assert {state for _, state in listed(server)} == {"resolved"}


# What people do


def test_a_rule_is_switched_off_or_held_longer(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    job.told = DOWN
    wish = {"name": "WindrowSystemDown", "hold_seconds": 0, "level": "critical"}
    changed: Any = server.ask("PUT", "/alert-rules", "operate", json=wish)
    assert (changed[0]["hold_seconds"], changed[0]["level"], changed[0]["is_on"]) == (0, "critical", True)
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "firing")]
    server.ask("PUT", "/alert-rules", "operate", json={"name": "WindrowSystemDown", "is_on": False})
    clock.look()
    assert listed(server) == [("WindrowSystemDown", "resolved")]
    answer = server.client.put("/api/v1/alert-rules", headers=server.auth(), json={"name": "WindrowNothing"})
    assert (answer.status_code, answer.json()["code"]) == (404, "WR922")


def test_taking_an_alert_on_and_silencing_a_job(server: Server, alerting: Alerting, job: Job) -> None:
    job.told = DOWN
    Clock(alerting).look(times=10)
    told = the_one(server)
    assert server.ask("POST", f"/alerts/{told['id']}/ack", "operate")["acknowledged_by"] == "operate"  # type: ignore[index]
    made: Any = server.ask("POST", "/silences", "operate", json={"job": "orders", "minutes": 5, "reason": "upgrade"})
    assert the_one(server)["is_silenced"]
    server.ask("DELETE", f"/silences/{made['id']}", "operate")
    assert not the_one(server)["is_silenced"]
    verbs = [one.verb for one in server.registry.audit()]
    assert verbs[:3] == ["end silence", "silence", "acknowledge"]
    for path in ("/alerts/nothing/ack",):
        answer = server.client.post(f"/api/v1{path}", headers=server.auth())
        assert (answer.status_code, answer.json()["code"]) == (404, "WR922")


def test_a_process_that_was_killed_is_not_told_as_failed(server: Server, alerting: Alerting, job: Job) -> None:
    clock = Clock(alerting)
    clock.look()
    os.kill(server.programs.started[0], signal.SIGKILL)
    until(server, lambda: len(server.programs.started) == 2 and runs(server)())
    clock.look(times=3)
    # It has not answered since; that is told only if it goes on.
    assert listed(server) == [("WindrowJobGone", "pending")]
