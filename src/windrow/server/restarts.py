"""Whether a job that ended is started again, and when: growing pauses, a budget, and never for what will not mend itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WRONG = 2  # the exit code of ``windrow run`` where the file, a setting or the state folder is wrong
_CODE = re.compile(r"^\[(WR\d{3})\]")


@dataclass(frozen=True)
class RestartRule:
    """Pauses in seconds double from the first to the longest; ``budget`` restarts within ``window`` seconds, and no more."""

    first: float = 1.0
    longest: float = 60.0
    budget: int = 5
    window: float = 3600.0


def next_start(rule: RestartRule, failures: Sequence[float], now: float) -> float | None:
    """When to start again after the last of ``failures``; None where the budget is used up. Times are seconds of one clock.

    >>> rule = RestartRule(first=1, longest=60, budget=3, window=100)
    >>> [next_start(rule, [0.0] * n, now=0) for n in (1, 2, 3, 4)], next_start(rule, [0, 0, 0, 200], now=200)
    ([1, 2, 4, None], 201)
    """
    recent = [at for at in failures if now - at < rule.window]
    if len(recent) > rule.budget:
        return None
    return now + min(rule.first * (1 << max(0, len(recent) - 1)), rule.longest)


def is_permanent(exit_code: int | None, message: str) -> bool:
    """A wrong file stays wrong. A process that was killed, or a system that was away, is worth another try.

    >>> is_permanent(2, "[WR214] unknown column"), is_permanent(None, ""), is_permanent(1, "[WR860] a broker does not answer")
    (True, False, False)
    """
    if exit_code == WRONG:
        return True
    found = _CODE.match(message)
    return exit_code == 1 and found is not None and found.group(1) in PERMANENT


# Of the errors that stop a job that ran, those that the same rows or the same state give again.
PERMANENT = frozenset({"WR803", "WR804", "WR807", "WR812", "WR820", "WR831", "WR832", "WR840", "WR853", "WR873", "WR874", "WR876", "WR879"})
