"""The lateness rule: when a window has closed, and when it takes no row any more. It is spelled here and nowhere else.

A window closes when the watermark reaches its end. Until the watermark reaches its end plus ALLOWED_LATENESS it is kept, and a row that
comes for it corrects it. Times may be numbers, Polars expressions or SQL text: see ``Arithmetic``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from windrow.model.window_kinds import FixedKind, Time

if TYPE_CHECKING:
    import polars as pl


def over_at(end: Time, lateness: int) -> Time:
    """The watermark at which a window that ends then takes no row any more."""
    return end + lateness


@overload
def is_over(end: int, lateness: int, watermark: int) -> bool: ...
@overload
def is_over(end: pl.Expr, lateness: int, watermark: int) -> pl.Expr: ...
def is_over(end: int | pl.Expr, lateness: int, watermark: int) -> bool | pl.Expr:
    """The rule for one window, and for a column of them: whether a window that ends then takes no row any more.

    >>> is_over(10, 5, watermark=14), is_over(10, 5, watermark=15)
    (False, True)
    """
    return (end + lateness) <= watermark


def is_over_sql(end: Time, lateness: int, watermark: str) -> str:
    """The rule as SQL. ``watermark`` is SQL, too: it may be that of the row."""
    return f"{over_at(end, lateness)} <= {watermark}"


def is_open_sql(end: Time, lateness: int, watermark: str) -> str:
    """Its opposite: whether a window that ends then still takes rows."""
    return f"{over_at(end, lateness)} > {watermark}"


def latest_end_over(watermark: int, lateness: int) -> int:
    """The rule from the other side: windows that end at or before this take no row any more."""
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
