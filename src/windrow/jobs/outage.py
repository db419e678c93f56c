"""Waiting for a source that is away: how often a job tries to go on, and when it gives up."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from windrow.resilience import RetryRule


class Outage:
    """How long one job waits for a system that is away. Pauses grow while nothing moves; a batch that was done since begins them anew."""

    def __init__(self, rule: RetryRule, stopping: threading.Event, clock: Callable[[], float] = time.monotonic) -> None:
        self._rule = rule
        self._stopping = stopping
        self._clock = clock
        self._since: float | None = None
        self._batch_id: int | None = None
        self._tries = 0

    def wait(self, batch_id: int) -> bool:
        """Pause before the next try, with ``batch_id`` the last batch that was done. False: it has been long enough."""
        if self._since is None or batch_id != self._batch_id:
            self._since, self._batch_id, self._tries = self._clock(), batch_id, 0
        if self._clock() - self._since >= self._rule.give_up_after or self._stopping.is_set():
            return False
        pause = min(self._rule.longest, self._rule.first * 2**self._tries)
        self._tries += 1
        return not self._stopping.wait(pause * random.uniform(1.0, 1.2))
