"""Calls to a system that fails for a while, for ever, or for a reason that does not pass."""

from __future__ import annotations

import threading
import time

import pytest

from windrow.errors import JobError, OutageError
from windrow.resilience import CLOSED, HALF_OPEN, OPEN, Breaker, FailureClass, Guard, RetryRule, StoppedWaitingError, system_states
from windrow.resilience.breaker import FAILURES_TO_OPEN, OPEN_SECONDS

QUICK = RetryRule(first=0.001, longest=0.002, give_up_after=0.2)
# It gives up before the breaker opens, which would be a pause of its own.
IMPATIENT = RetryRule(first=0.02, longest=0.04, give_up_after=0.03)


def classify(error: BaseException) -> FailureClass:
    return FailureClass.TRANSIENT if isinstance(error, ConnectionError) else FailureClass.PERMANENT


def explain(error: BaseException, what: str) -> JobError:
    return JobError("WR000", f"could not {what}: {error}")


class Failing:
    """Fails so many times, then answers."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.left = times
        self.calls = 0
        self.error = error or ConnectionError("refused\nat length")

    def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "answer"


def test_a_failure_that_passes_is_not_seen() -> None:
    action = Failing(3)
    assert Guard("a", classify, explain, QUICK).call("ask", action) == "answer"
    assert action.calls == 4
    state = next(s for s in system_states() if s.system == "a")
    assert (state.state, state.failures, state.error) == (CLOSED, 0, None)


def test_a_failure_that_stays_is_shown_at_once() -> None:
    action = Failing(9, ValueError("wrong password"))
    with pytest.raises(JobError, match="could not ask: wrong password"):
        Guard("b", classify, explain, QUICK).call("ask", action)
    assert action.calls == 1


def test_waiting_has_an_end() -> None:
    with pytest.raises(JobError, match="could not ask: refused") as found:
        Guard("c", classify, explain, IMPATIENT).call("ask", Failing(10_000))
    assert not isinstance(found.value, OutageError)


def test_a_job_that_opens_may_wait_for_what_may_pass_and_for_nothing_else() -> None:
    opening = Guard("g", classify, explain, IMPATIENT, is_opening=True)
    with pytest.raises(OutageError, match="could not ask: refused"):
        opening.call("ask", Failing(10_000))
    with pytest.raises(JobError, match="wrong password") as found:
        opening.call("ask", Failing(1, ValueError("wrong password")))
    assert not isinstance(found.value, OutageError)


def test_a_stop_ends_the_waiting() -> None:
    stopping = threading.Event()
    guard = Guard("d", classify, explain, RetryRule(30, 30, 600), stopping)
    threading.Timer(0.05, stopping.set).start()
    with pytest.raises(StoppedWaitingError):
        guard.call("ask", Failing(10_000))


def test_a_breaker_opens_lets_one_call_through_and_closes() -> None:
    now = [100.0]
    breaker = Breaker("e", clock=lambda: now[0])
    for _ in range(FAILURES_TO_OPEN):
        assert breaker.pause() == 0
        breaker.failed("refused")
    assert breaker.state.state == OPEN
    assert breaker.pause() == pytest.approx(OPEN_SECONDS)
    now[0] += OPEN_SECONDS
    assert breaker.state.state == HALF_OPEN
    assert breaker.pause() == 0
    assert breaker.pause() > 0, "only one caller finds out"
    breaker.failed("still refused")
    assert breaker.state.state == OPEN
    assert breaker.state.since == 100.0
    now[0] += OPEN_SECONDS
    assert breaker.pause() == 0
    breaker.succeeded()
    assert breaker.state.state == CLOSED
    assert breaker.pause() == 0


def test_a_system_that_asks_for_a_pause_gets_it() -> None:
    begun = time.monotonic()
    assert Guard("f", classify, explain, RetryRule(0.001, 0.002, 5), least_pause=lambda _: 0.1).call("ask", Failing(2)) == "answer"
    assert time.monotonic() - begun >= 0.2
