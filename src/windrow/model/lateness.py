"""The lateness rule: when a window has closed, and when it takes no row any more. Its arithmetic is here and nowhere else.

A window closes when the watermark reaches its end. Until the watermark reaches its end plus ALLOWED_LATENESS it is kept, and a row that
comes for it corrects it. Times may be numbers, columns of a table or SQL text: see ``Arithmetic``. ``windrow.windowing.lateness`` asks the
question of tables and of rows that are still in Spark.
"""

from __future__ import annotations

from windrow.model.window_kinds import FixedKind, Time


def over_at(end: Time, lateness: int) -> Time:
    """The watermark at which a window that ends then takes no row any more. Of a length: for how long after its start it is kept."""
    return end + lateness


def latest_end_over(watermark: int, lateness: int) -> int:
    """The rule from the other side: windows that end at or before this take no row any more.

    >>> over_at(latest_end_over(100, 5), 5)
    100
    """
    return watermark - lateness


def late_by(end: int, lateness: int, watermark: int) -> int:
    """For how long, in event time, a window that ends then has taken no row any more."""
    return watermark - over_at(end, lateness)


def first_closed_at(kind: FixedKind, at: Time) -> Time:
    """The watermark at which a row of this time is late for one of its windows.

    >>> from windrow.model.window_kinds import Sliding
    >>> first_closed_at(Sliding(size=10, advance=5), 12)
    15
    """
    return kind.end_of(kind.first_pane(at))
