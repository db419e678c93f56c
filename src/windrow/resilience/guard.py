"""Calling an outside system: again after a failure that may pass, with growing pauses, for as long as the job is willing to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, stop_any, stop_when_event_set, wait_exponential_jitter

from windrow.errors import JobError, OutageError, UnavailableError, WindrowError
from windrow.resilience.breaker import Breaker, breaker_of
from windrow.resilience.failures import FailureClass

T = TypeVar("T")


class StoppedWaitingError(JobError):
    """The job was stopped while it waited for a system that is down; the batch is left for the next run."""


@dataclass(frozen=True)
class RetryRule:
    """Pauses grow from ``first`` to ``longest`` seconds, each a little by chance; after ``give_up_after`` seconds the call failed."""

    first: float = 0.2
    longest: float = 15.0
    give_up_after: float = 600.0


def _any_pause(_error: BaseException) -> float:
    return 0.0


@dataclass
class Guard:
    """Calls to one system. ``classify`` tells what a failure of its client library means.

    ``explain`` turns a failure that stays into an error with a code and a hint; ``is_stopping`` ends the waiting; ``least_pause``
    says how many seconds the system itself asks for before it is called again. ``is_opening``: a failure that may still pass is an
    ``OutageError`` in the end, because a job that begins again after an outage has more patience than one that starts. Otherwise it is an
    ``UnavailableError``: an output may have other plans for its rows.
    """

    system: str
    classify: Callable[[BaseException], FailureClass]
    explain: Callable[[BaseException, str], WindrowError]
    rule: RetryRule = field(default_factory=RetryRule)
    is_stopping: threading.Event = field(default_factory=threading.Event)
    least_pause: Callable[[BaseException], float] = _any_pause
    is_opening: bool = False

    @property
    def breaker(self) -> Breaker:
        return breaker_of(self.system)

    def call(self, what: str, action: Callable[[], T]) -> T:
        """``action`` must be safe to repeat. ``what`` completes "could not ..."."""
        try:
            result: T = self._retrying()(self._once, action)
        except WindrowError:
            raise
        except Exception as error:
            may_pass = self._is_worth_trying_again(error)
            if self.is_stopping.is_set() and may_pass:
                raise self._stopped() from error
            found = self.explain(error, what)
            if self.is_opening and may_pass:
                raise OutageError(found.code, found.message, found.hint) from error
            if may_pass and type(found) is JobError:
                raise UnavailableError(found.code, found.message, found.hint) from error
            raise found from error
        return result

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(self._is_worth_trying_again),
            wait=self._next_pause,
            stop=stop_any(stop_after_delay(self.rule.give_up_after), stop_when_event_set(self.is_stopping)),
            sleep=self._pause,
            reraise=True,
        )

    def _next_pause(self, state: RetryCallState) -> float:
        growing = wait_exponential_jitter(multiplier=self.rule.first, max=self.rule.longest, jitter=self.rule.first)
        error = state.outcome.exception() if state.outcome is not None else None
        return max(growing(state), 0.0 if error is None else self.least_pause(error))

    def _once(self, action: Callable[[], T]) -> T:
        while (pause := self.breaker.pause()) > 0:
            self._pause(pause)
        try:
            result = action()
        except Exception as error:
            if self._is_worth_trying_again(error):
                self.breaker.failed(_short(error))
            else:
                # Somebody answered, if only with a refusal: the system is there.
                self.breaker.succeeded()
            raise
        self.breaker.succeeded()
        return result

    def _is_worth_trying_again(self, error: BaseException) -> bool:
        return not isinstance(error, WindrowError) and self.classify(error).is_worth_trying_again

    def _pause(self, seconds: float) -> None:
        if self.is_stopping.wait(seconds):
            raise self._stopped()

    def _stopped(self) -> StoppedWaitingError:
        return StoppedWaitingError("WR821", f"the job is stopping while {self.system} does not answer: the batch is left for the next run")


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
