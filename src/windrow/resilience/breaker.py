"""A breaker per outside system: after some failures in a row nobody calls it for a while, then one call finds out whether it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half-open"

FAILURES_TO_OPEN = 5
OPEN_SECONDS = 10.0


@dataclass(frozen=True)
class SystemState:
    """What the status says of one outside system. ``since`` is seconds since the epoch, of the first failure in the row.

    ``failures`` are those in a row, ``retries`` every call since the process began that failed and was tried again or given up.
    """

    system: str
    state: str
    failures: int
    error: str | None
    since: float | None
    retries: int = 0


@dataclass
class Breaker:
    system: str
    clock: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _failures: int = 0
    _retries: int = 0
    _error: str | None = None
    _since: float | None = None
    _opened_at: float | None = None
    _is_probing: bool = False

    def pause(self) -> float:
        """How long to wait before a call may be tried: 0 lets it through now. One caller at a time probes a half-open system."""
        with self._lock:
            if self._opened_at is None:
                return 0.0
            left = self._opened_at + OPEN_SECONDS - self.clock()
            if left > 0:
                return left
            if self._is_probing:
                return 1.0
            self._is_probing = True
            return 0.0

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._error, self._since, self._opened_at, self._is_probing = 0, None, None, None, False

    def failed(self, error: str) -> None:
        with self._lock:
            self._failures += 1
            self._retries += 1
            self._error = error
            self._since = self.clock() if self._since is None else self._since
            if self._is_probing or self._failures >= FAILURES_TO_OPEN:
                self._opened_at = self.clock()
            self._is_probing = False

    @property
    def state(self) -> SystemState:
        with self._lock:
            if self._opened_at is None:
                name = CLOSED
            else:
                name = OPEN if not self._is_probing and self.clock() < self._opened_at + OPEN_SECONDS else HALF_OPEN
            return SystemState(self.system, name, self._failures, self._error, self._since, self._retries)


_breakers: dict[str, Breaker] = {}
_breakers_lock = threading.Lock()


def breaker_of(system: str) -> Breaker:
    """The breaker of a system, shared by everyone in this process who calls it."""
    with _breakers_lock:
        return _breakers.setdefault(system, Breaker(system))


def system_states() -> list[SystemState]:
    """Every outside system that was called so far, by name."""
    with _breakers_lock:
        return [breaker.state for _, breaker in sorted(_breakers.items())]
