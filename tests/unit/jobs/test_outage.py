"""How long a job waits for a source that is away."""

from __future__ import annotations

import threading

import pytest

from windrow.errors import JobError, OutageError
from windrow.jobs.failures import as_job_error, lost_part
from windrow.jobs.outage import Outage
from windrow.resilience import RetryRule

RULE = RetryRule(first=0.0, longest=0.0, give_up_after=10.0)


def test_it_gives_up_when_nothing_moves_for_long_enough() -> None:
    now = [0.0]
    outage = Outage(RULE, threading.Event(), lambda: now[0])
    assert outage.wait(7)
    now[0] = 9.9
    assert outage.wait(7)
    now[0] = 10.0
    assert not outage.wait(7)


def test_a_batch_that_was_done_begins_the_wait_anew() -> None:
    now = [0.0]
    outage = Outage(RULE, threading.Event(), lambda: now[0])
    assert outage.wait(7)
    now[0] = 11.0
    assert outage.wait(8)
    now[0] = 20.0
    assert outage.wait(8)


def test_a_stop_ends_the_pause() -> None:
    stopping = threading.Event()
    threading.Timer(0.05, stopping.set).start()
    assert not Outage(RetryRule(first=60.0), stopping).wait(1)


def test_a_machine_that_is_too_busy_is_waited_for() -> None:
    found = as_job_error(RuntimeError("[STREAM_FAILED] ... terminated with exception: Python worker failed to connect back."), "errors")
    assert isinstance(found, OutageError)
    assert found.code == "WR851"
    assert not isinstance(as_job_error(RuntimeError("something else"), "errors"), OutageError)


@pytest.mark.parametrize("limit", ["local spark.driver.maxResultSize 1024.0 MiB", "spark.driver.maxResultSize (1024.0 MiB)"])
def test_a_batch_of_more_than_the_driver_takes_says_what_to_do(limit: str) -> None:
    text = f"Job aborted due to stage failure: Total size of serialized results of 3 tasks (1100.2 MiB) is bigger than {limit}."
    found = as_job_error(RuntimeError(text), "candles")
    assert found.code == "WR852"
    assert found.message == "job candles stopped: a batch gives the driver more than the 1024.0 MiB that Spark lets it take"
    assert found.hint is not None
    assert "files.per_batch" in found.hint


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero.", "a number was divided by zero", "NULLIF"),
        ("[CAST_OVERFLOW] The value 300 of the type", "a number does not fit the type it is cast to", "TRY_CAST"),
        ("[CAST_INVALID_INPUT] The value 'x'", "a text cannot be cast", "TRY_CAST"),
        ("[ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION] long overflow", "a result does not fit its type", "DECIMAL"),
    ],
)
def test_what_cannot_be_computed_says_what_to_write(text: str, what: str, hint: str) -> None:
    found = as_job_error(RuntimeError(text), "ratios")
    assert found.code == "WR853"
    assert found.message.startswith(f"job ratios stopped: {what}, and 'error.policy' = 'fail' does not let that be NULL (")
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Job aborted: (10.0.0.5 executor 2): ExecutorLostFailure (executor 2 exited by x) Reason: worker lost\nDriver",
            "executor 2 was lost: worker lost",
        ),
        ("org.apache.spark.shuffle.FetchFailedException: Connection reset by peer", "what an executor had computed went away with it"),
        (
            "java.io.IOException: Failed to connect to /10.0.0.5:4040",
            "an executor did not reach another machine: Failed to connect to /10.0.0.5:4040",
        ),
    ],
)
def test_a_lost_executor_is_waited_for(said: str, told: str) -> None:
    found = as_job_error(RuntimeError(said), "candles")
    assert isinstance(found, OutageError)
    assert (found.code, found.message) == ("WR855", f"job candles stopped: {told}")


def test_a_sink_that_lost_an_executor_has_not_failed() -> None:
    error = JobError("WR524", "batch 3 could not be written to out: no reason given")
    error.__cause__ = RuntimeError("ExecutorLostFailure (executor 1 exited unrelated to the running tasks) Reason: heartbeat")
    found = lost_part(error, "candles")
    assert found is not None
    assert found.message == "job candles stopped: executor 1 was lost: heartbeat"
    assert lost_part(JobError("WR523", "the disk is full"), "candles") is None
