"""Events are found by comparing two statuses: each is told once, and again only when it has been over."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.unit.serving.statuses import status
from windrow.observe.event import STALLED_SECONDS, TYPES, EventFinder
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import (
    DRIVER,
    EXECUTORS,
    FAILED,
    RUNNING,
    Holder,
    JobAbout,
    OperatorStatus,
    RunCounts,
    StateSize,
    TableLoad,
    UnreadFile,
)
from windrow.resilience import SystemState

QUIET: dict[str, Any] = {"systems": (), "tables": (), "counts": RunCounts(), "ledger": Ledger(), "rows_in": 100}
UP, DOWN = SystemState("db", "closed", 0, None, None), SystemState("db", "open", 5, "no route", 1.0)
DONE = TableLoad("rates", 5, 5, 1.0, is_done=True)
TORN = UnreadFile("logs", "logs/a.parquet", "cut off")
LETTERS = Ledger({"s": Account(rows_in=5, dead=Counter(WR701=5))})


def _operators(home: str) -> tuple[OperatorStatus, ...]:
    return (OperatorStatus("out", "aggregate", state=StateSize(1, 1, 1, home)),)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ({"state": RUNNING}, {"state": FAILED, "error": "[WR807] too large\nmore"}, ["job.state"]),
        ({}, {"tables": (DONE,)}, ["table.loaded"]),
        ({}, {"stale_tables": {"rates": "gone"}}, ["table.stale"]),
        ({"stale_tables": {"rates": "gone"}}, {}, ["table.fresh"]),
        ({"systems": (UP,)}, {"systems": (DOWN,)}, ["system.down"]),
        ({"systems": (DOWN,)}, {"systems": (UP,)}, ["system.up"]),
        ({}, {"batch_id": 5, "rows_in": 200, "late": 20}, ["window.late_burst"]),
        ({}, {"batch_id": 5, "rows_in": 9_000, "late": 20}, []),
        ({}, {"batch_id": 5, "dead_letters": 5, "ledger": LETTERS}, ["letters.written"]),
        ({}, {"unread_files": (TORN,)}, ["files.unread"]),
        ({"unread_files": (TORN,)}, {"unread_files": (TORN, UnreadFile("logs", "b", "cut off"))}, ["files.unread"]),
        ({"operators": _operators(DRIVER)}, {"operators": _operators(EXECUTORS)}, ["state.moved"]),
        ({}, {"counts": RunCounts(evicted=7)}, ["state.evicted"]),
        ({}, {"state_bytes": 90, "limits": {"state.max_bytes": 100}}, ["state.limit"]),
    ],
)
def test_a_change_is_told_once(before: dict[str, Any], after: dict[str, Any], kinds: list[str]) -> None:
    finder = EventFinder("shop")
    finder.see(status(**{**QUIET, **before}), 0.0)
    changed = status(**{**QUIET, **after})
    found = finder.see(changed, 1.0)
    assert [event.type for event in found] == kinds
    assert all(event.type in TYPES and event.message and event.to_json()["at"].startswith("1970-01-01") for event in found)
    assert finder.see(changed, 2.0) == []


def test_a_job_that_goes_on_from_its_state_tells_of_nothing_old() -> None:
    found = EventFinder("shop").see(status(**{**QUIET, "late": 500, "dead_letters": 9, "state": RUNNING}), 0.0)
    assert [event.type for event in found] == ["job.state"]


def test_torn_files_of_the_first_batch_are_told_and_those_of_an_earlier_run_are_not() -> None:
    torn = {**QUIET, "state": RUNNING, "unread_files": (TORN, UnreadFile("logs", "logs/b.parquet", "cut off"))}
    first = EventFinder("shop").see(status(**torn), 0.0)
    assert [event.type for event in first] == ["job.state", "files.unread"]
    assert first[1].message == "2 files of logs could not be read: logs/a.parquet (cut off), and others"
    assert first[1].details["files"] == {"logs/a.parquet": "cut off", "logs/b.parquet": "cut off"}
    again = EventFinder("shop").see(status(**torn, about=JobAbout(starts=2)), 0.0)
    assert [event.type for event in again] == ["job.state"]


def test_a_watermark_stalls_only_while_rows_come_in() -> None:
    finder = EventFinder("shop")
    held = Holder("orders", 3, 5, 60.0)
    finder.see(status(**{**QUIET, "watermark": 7}), 0.0)
    assert finder.see(status(**{**QUIET, "watermark": 7}), STALLED_SECONDS + 1) == []
    rows = {**QUIET, "watermark": 7, "rows_in": 900, "held_by": held}
    found = finder.see(status(**rows), STALLED_SECONDS + 2)
    assert [event.type for event in found] == ["watermark.stalled"]
    assert "orders partition 3" in found[0].message
    assert finder.see(status(**{**rows, "rows_in": 950}), 2 * STALLED_SECONDS) == []
    assert [event.type for event in finder.see(status(**{**rows, "watermark": 8}), 3 * STALLED_SECONDS)] == ["watermark.moved"]


def test_levels_of_a_limit_are_told_as_they_are_passed() -> None:
    finder = EventFinder("shop")
    told = []
    for used in (50, 72, 75, 86, 96, 97, 10, 71):
        told += finder.see(status(**{**QUIET, "state_bytes": used, "limits": {"state.max_bytes": 100}}), 0.0)[-1:]
    limits = [event.details["share"] for event in told if event.type == "state.limit"]
    assert limits == [0.72, 0.86, 0.96, 0.71]
