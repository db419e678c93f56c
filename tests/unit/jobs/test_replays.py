"""Which batch takes which dead letter, whatever is asked for when."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from windrow.jobs import replays
from windrow.jobs.replays import ReplayLog
from windrow.model.fate import Fate
from windrow.observe.ledger import TakenBack
from windrow.spark.execution.dead_letters import DeadLetter, to_table
from windrow.storage import LocalFolder


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplayLog:
    monkeypatch.setattr(replays, "_LOOK_SECONDS", 0.0)
    return ReplayLog(LocalFolder(tmp_path))


def letters(batch: int, count: int) -> list[dict[str, Any]]:
    made = [DeadLetter(Fate.UNDECODABLE, "t", None, {"_offset": n, "_raw_text": b"x"}, batch) for n in range(count)]
    return list(to_table(made).to_pylist())


def ids(log: ReplayLog, batch: int) -> list[str]:
    return [letter["id"] for letter in log.plan(batch).letters]


def test_a_batch_takes_what_waits_and_takes_the_same_when_it_runs_again(log: ReplayLog) -> None:
    assert ids(log, 4) == []
    log.ask_for(letters(3, 2))
    assert log.is_waiting()
    assert ids(log, 5) == ["3-0", "3-1"]
    log.ask_for(letters(4, 1))
    again = ReplayLog(log.folder)
    assert ids(again, 5) == ["3-0", "3-1"]
    assert ids(again, 6) == ["4-0"]
    assert not again.is_waiting()


def test_a_letter_that_is_asked_for_twice_is_taken_once(log: ReplayLog) -> None:
    log.ask_for(letters(3, 2))
    log.ask_for(letters(3, 2))
    assert ids(log, 5) == ["3-0", "3-1"]
    log.ask_for(letters(3, 2))
    assert ids(log, 6) == []


def test_what_a_replayed_row_was_counted_as(log: ReplayLog) -> None:
    log.ask_for(letters(3, 2))
    replay = log.plan(5)
    assert replay.taken_back == {"t": TakenBack(Counter({"WR701": 2}))}
    assert set(replay.attempts.values()) == {1}


def test_going_back_lets_letters_wait_again_and_forgets_those_of_later_batches(log: ReplayLog) -> None:
    log.ask_for([*letters(3, 1), *letters(6, 1)])
    assert ids(log, 7) == ["3-0", "6-0"]
    log.forget_after(5)
    assert ids(log, 6) == ["3-0"]
