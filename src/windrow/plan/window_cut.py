"""Where one version of a statement ends and the next begins: a time at which windows of both start."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from windrow.model.types import ColumnDef
from windrow.model.window_kinds import FixedKind


@dataclass(frozen=True)
class WindowCut:
    """Of all windows, a stage keeps those that start before ``at``, or those that start from then on.

    ``statement`` is whose accounts the stage keeps. ``earlier`` is the stage that keeps the windows before ``at``: what it emits goes out
    as rows of this one, with NULL in the columns that it does not have, which are ``added``.
    """

    at: int
    is_before: bool
    statement: str
    earlier: str | None = None
    added: tuple[ColumnDef, ...] = ()


def overlap(kind: FixedKind) -> int:
    """How far windows that start before a cut reach beyond it.

    >>> from windrow.model.window_kinds import Cumulate, Sliding, Tumbling
    >>> overlap(Tumbling(10)), overlap(Sliding(size=10, advance=4)), overlap(Cumulate(step=2, size=10))
    (0, 6, 0)
    """
    return kind.size - starts_every(kind)


def starts_every(kind: FixedKind) -> int:
    """How far apart the starts of windows lie. Those of a CUMULATE start together."""
    return kind.pane_step if kind.start_tells_end else kind.size


def common_start(kinds: list[FixedKind], after: int) -> int | None:
    """The first time after ``after`` at which windows of every kind start; None where there is none.

    >>> from windrow.model.window_kinds import Sliding, Tumbling
    >>> common_start([Tumbling(60), Sliding(size=300, advance=100)], after=60)
    300
    >>> common_start([Tumbling(10), Tumbling(20, offset=5)], after=0)
    """
    at, step = 0, 1
    for kind in kinds:
        every = starts_every(kind)
        shared = gcd(step, every)
        if (kind.offset - at) % shared:
            return None
        rounds = every // shared
        at += (kind.offset - at) // shared * pow(step // shared, -1, rounds) % rounds * step
        step = lcm(step, every)
    return after + 1 + (at - after - 1) % step
