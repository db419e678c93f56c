"""How a job ends whose Spark has ended: stopped where somebody wanted that, failed where nobody did."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.errors import JobError, SparkLostError
from windrow.jobs import runner
from windrow.jobs.runner import RunningJob
from windrow.observe.status import STOPPED

LOST = SparkLostError("WR854", "Spark's Java process was ended from outside")


def _ended(error: JobError, is_stopping: threading.Event) -> list[Any]:
    states: list[Any] = []
    job: Any = SimpleNamespace(_is_stopping=is_stopping, _come_to=states.append, _fail=states.append, _failure=None)
    RunningJob._end_by(job, error)
    return [*states, job._failure]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "WISH_SECONDS", 0.0)


def test_the_end_of_spark_is_a_failure_where_nobody_wanted_it() -> None:
    assert _ended(LOST, threading.Event()) == [LOST, None]


def test_the_end_of_spark_beside_a_wish_to_stop_is_a_stop_and_whoever_waits_is_told() -> None:
    is_stopping = threading.Event()
    is_stopping.set()
    assert _ended(LOST, is_stopping) == [STOPPED, LOST]


def test_another_failure_is_one_even_if_the_job_is_to_stop() -> None:
    error, is_stopping = JobError("WR701", "a row cannot be read"), threading.Event()
    is_stopping.set()
    assert _ended(error, is_stopping) == [error, None]
