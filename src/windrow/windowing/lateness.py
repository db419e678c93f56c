"""The lateness rule (``windrow.model.lateness``) asked of windows at hand, of a table of them, and in SQL of rows on the executors."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from windrow.model.lateness import over_at
from windrow.model.window_kinds import Time

if TYPE_CHECKING:
    import polars as pl


@overload
def is_over(end: int, lateness: int, watermark: int) -> bool: ...
@overload
def is_over(end: pl.Expr, lateness: int, watermark: int) -> pl.Expr: ...
def is_over(end: int | pl.Expr, lateness: int, watermark: int) -> bool | pl.Expr:
    """The rule for one window, and for a column of them: whether a window that ends then takes no row any more.

    >>> is_over(10, 5, watermark=14), is_over(10, 5, watermark=15)
    (False, True)
    """
    return over_at(end, lateness) <= watermark


def is_over_sql(end: Time, lateness: int, watermark: str) -> str:
    """The rule as SQL. ``watermark`` is SQL, too: it may be that of the row."""
    return f"{over_at(end, lateness)} <= {watermark}"


def is_open_sql(end: Time, lateness: int, watermark: str) -> str:
    """Its opposite: whether a window that ends then still takes rows."""
    return f"{over_at(end, lateness)} > {watermark}"
