"""Whether a job is ready, and the reasons it gives where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.statuses import status
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import ENDED, FAILED, RUNNING, STARTING, WAITING, SourceStatus, TableLoad
from windrow.resilience import SystemState
from windrow.serving.health import ready, started

AWAY = SystemState("Kafka broker:9092", "open", 7, "no route", 1.0)
READY: dict[str, Any] = {"tables": (TableLoad("rates", 100, 100, 1.0, is_done=True),), "sources": ()}


def test_a_job_that_does_its_work_is_ready() -> None:
    found = ready([status(**READY)], 120, now=1101.0)
    assert found.is_well
    assert found.to_json()["reasons"] == []
    assert {part.name for part in found.parts} == {"state", "tables", "systems", "progress", "ledger"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": STARTING}, "starting"),
        ({"state": WAITING, "error": "waits: the broker is away\nmore"}, "waiting: waits: the broker is away"),
        ({"state": FAILED, "error": "[WR807] too large"}, "failed: [WR807] too large"),
        ({"state": ENDED}, "ended"),
        ({"tables": (TableLoad("rates", 50, 100, 1.0),)}, "table rates is loading: 50 of about 100 rows"),
        ({"systems": (AWAY,)}, "Kafka broker:9092 does not answer (7 failures): no route"),
        ({"batch_since": 1000.0}, "batch 5 has been under way for 400 s"),
        ({"sources": (SourceStatus("orders", backlog={"0": 9}),)}, "no batch was committed for 300 s, and 9 rows or files wait"),
        ({"ledger": Ledger({"orders": Account(rows_in=1)})}, "not all accounted for"),
    ],
)
def test_a_job_that_does_not_is_not_ready_and_says_why(changes: dict[str, Any], reason: str) -> None:
    found = ready([status(**{**READY, **changes})], 120, now=1400.0)
    assert not found.is_well
    assert any(reason in told for told in found.to_json()["reasons"]), found.to_json()


def test_a_quiet_source_is_no_reason() -> None:
    assert ready([status(**{**READY, "sources": (SourceStatus("orders", backlog={"0": 0}),)})], 120, now=9000.0).is_well


def test_before_there_is_a_job_nothing_has_started() -> None:
    assert not started([]).is_well
    assert not ready([], 120).is_well
    assert not started([status(state=STARTING)]).is_well
    assert started([status(state=RUNNING)]).is_well
