"""When a window is closed and when it is given up: the one rule, for single times, for columns of a table and for SQL alike.

A window closes when the watermark reaches its end. Until the watermark reaches its end plus ALLOWED_LATENESS it is kept, and a row that
comes for it corrects it. Both are asked as ``<= watermark``. Times may be numbers, Polars expressions or SQL text: see ``Arithmetic``.
"""

from __future__ import annotations

from windrow.model.window_kinds import FixedKind, Time


def given_up_at(kind: FixedKind, at: Time, lateness: int) -> Time:
    """The watermark at which no window takes a row of this time, or of the slice that starts then, any more.

    >>> from windrow.model.window_kinds import Sliding
    >>> given_up_at(Sliding(size=10, advance=5), 12, lateness=3)
    23
    """
    return kind.last_end(at) + lateness


def first_closed_at(kind: FixedKind, at: Time) -> Time:
    """The watermark at which a row of this time is late for one of its windows.

    >>> from windrow.model.window_kinds import Sliding
    >>> first_closed_at(Sliding(size=10, advance=5), 12)
    15
    """
    return kind.end_of(kind.first_pane(at))


def pane_given_up_at(kind: FixedKind, pane: Time, lateness: int) -> Time:
    """The watermark at which a window takes no row any more."""
    return kind.end_of(pane) + lateness
