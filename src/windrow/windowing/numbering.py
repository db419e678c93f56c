"""Panes by small whole numbers: what a pane is known by is looked at once, and not again for each thing that is asked of it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

PANE = "_pane"  # number of a row's pane within its batch: rows of one pane have the same, and no others have it

# Fewer rows are grouped faster than they are numbered.
_FEW = 20_000
_LOOKED_AT = 100_000
# So many different numbers that lie far apart are looked up; more are not worth it.
_MOST_APART = 1000


def pane_numbers(rows: pl.DataFrame, pane: Sequence[str]) -> pl.Series | None:
    """The number of each row's pane, less than twice the number of rows. None where it takes less to group rows as they are."""
    if rows.height < _FEW or not pane:
        return None
    numbers, size = pl.repeat(0, rows.height, dtype=pl.UInt32, eager=True), 1
    for name in pane:
        codes = _codes(rows[name])
        if codes is None:
            return None
        many = how_many(codes)
        codes, many = (codes.fill_null(many), many + 1) if codes.null_count() else (codes, many)
        numbers = codes if size == 1 else numbers * many + codes
        size *= many
        if size > 2 * rows.height:
            return None
    return numbers.alias(PANE)


def how_many(numbers: pl.Series) -> int:
    """The least number that is greater than all."""
    greatest = numbers.max()
    return greatest + 1 if isinstance(greatest, int) else 0


def last_rows(numbers: pl.Series) -> pl.Series:
    """The last row of each pane, in order."""
    return (len(numbers) - 1 - numbers.reverse().arg_unique().cast(pl.Int64)).reverse()


def by_number(table: pl.DataFrame, size: int) -> pl.DataFrame:
    """Row n of what comes out is the one with the number n, or NULLs."""
    places = pl.repeat(None, size, dtype=pl.UInt32, eager=True)
    return table.drop(PANE)[places.scatter(table[PANE], pl.int_range(table.height, dtype=pl.UInt32, eager=True))]


def _codes(values: pl.Series) -> pl.Series | None:
    """Small numbers for values, NULL for NULL. Values that Polars takes for equal though they differ (0.0 and -0.0) are left to it."""
    if values.dtype == pl.String:
        return _codes_of_texts(values)
    plain = values.to_physical() if values.dtype.is_temporal() else values
    return _codes_of_numbers(plain) if plain.dtype.is_integer() else None


def _codes_of_texts(values: pl.Series) -> pl.Series | None:
    some = values.head(_LOOKED_AT)
    if some.n_unique() > 0.9 * len(some):
        return None
    # Categories of their own are forgotten with the batch; the common ones would be kept for good.
    return values.cast(pl.Categorical(pl.Categories.random())).to_physical().cast(pl.UInt32)


def _codes_of_numbers(values: pl.Series) -> pl.Series | None:
    least = values.min()
    if not isinstance(least, int):
        return values.cast(pl.UInt32)
    if how_many(values) - least <= len(values):
        return (values.cast(pl.Int64) - least).cast(pl.UInt32)
    different = values.drop_nulls().unique().sort()
    if len(different) > _MOST_APART:
        return None
    codes = different.search_sorted(values).cast(pl.UInt32)
    return codes.set(values.is_null(), None) if values.null_count() else codes
