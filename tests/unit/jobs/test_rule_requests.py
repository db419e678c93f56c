"""Requests that rules over dead letters make: the same again after a crash, and never for a batch of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from windrow.jobs import replays
from windrow.jobs.replays import NO_REPLAY, ReplayLog
from windrow.spark.execution.dead_letters import SCHEMA
from windrow.storage import LocalFolder


def letter(batch_id: int, number: int) -> dict[str, Any]:
    return {
        **dict.fromkeys(SCHEMA.names),
        "id": f"{batch_id}-{number}",
        "batch_id": batch_id,
        "attempt": 1,
        "source": "orders",
        "row": "{}",
    }


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayLog:
    monkeypatch.setattr(replays, "_LOOK_SECONDS", 0.0)
    return ReplayLog(LocalFolder(tmp_path))


def test_rules_that_ask_twice_ask_for_the_same(log: ReplayLog) -> None:
    for _ in range(2):
        log.ask_for([letter(3, 0)], by_rules_of=3)
    assert len(log.folder.names()) == 1
    assert [each["id"] for each in log.plan(4).letters] == ["3-0"]
    assert log.plan(5) == NO_REPLAY


def test_a_batch_never_takes_letters_of_its_own(log: ReplayLog) -> None:
    log.ask_for([letter(3, 0)], by_rules_of=3)
    assert log.plan(3) == NO_REPLAY
    assert [each["id"] for each in log.plan(4).letters] == ["3-0"]


def test_a_batch_that_runs_again_takes_what_it_had_noted_and_nothing_else(log: ReplayLog) -> None:
    """Its rows may be in the sinks already, which take a batch once."""
    log.ask_for([letter(1, 0)])
    assert log.plan(3, is_again=True) == NO_REPLAY
    assert [each["id"] for each in log.plan(4).letters] == ["1-0"]
    log.ask_for([letter(2, 0)])
    assert [each["id"] for each in log.plan(4, is_again=True).letters] == ["1-0"]
    assert [each["id"] for each in log.plan(5).letters] == ["2-0"]


def test_a_look_at_once_does_not_wait_for_the_next(log: ReplayLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "_LOOK_SECONDS", 3600.0)
    assert log.plan(1) == NO_REPLAY
    log.ask_for([letter(1, 0)], by_rules_of=1)
    assert log.plan(2) == NO_REPLAY
    assert [each["id"] for each in log.plan(3, at_once=True).letters] == ["1-0"]
