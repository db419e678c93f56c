"""Panes by small whole numbers: what a pane is known by is looked at once, and not again for each thing that is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

PANE = "_pane"  # number of a row's pane within its batch: rows of one pane have the same, and no others have it

# Fewer rows are grouped faster than they are numbered.
_FEW = 20_000
_LOOKED_AT = 100_000
# So many different numbers that lie far apart are looked up; more are not worth it.
_MOST_APART = 1000
# So many texts are numbered in two shares beside each other.
_MANY = 500_000


def pane_numbers(rows: pl.DataFrame | pa.Table, pane: Sequence[str]) -> pl.Series | None:
    """The number of each row's pane, less than twice the number of rows. None where it takes less to group rows as they are."""
    if len(rows) < _FEW or not pane:
        return None
    with ThreadPoolExecutor(len(pane)) as pool:
        coded = list(pool.map(lambda name: _codes(rows[name]), pane))
    numbers, size = pl.repeat(0, len(rows), dtype=pl.UInt32, eager=True), 1
    for codes in coded:
        if codes is None:
            return None
        many = how_many(codes)
        codes, many = (codes.fill_null(many), many + 1) if codes.null_count() else (codes, many)
        numbers = codes if size == 1 else numbers * many + codes
        size *= many
        if size > 2 * len(rows):
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


def _codes(values: pl.Series | pa.ChunkedArray) -> pl.Series | None:
    """Small numbers for values, NULL for NULL. Values that Polars takes for equal though they differ (0.0 and -0.0) are left to it."""
    if isinstance(values, pa.ChunkedArray) and pa.types.is_string(values.type):
        return _codes_of_texts(values)
    series = pl.Series(values)
    if series.dtype == pl.String:
        return _codes_of_texts(pa.chunked_array([series.to_arrow()]))
    plain = series.to_physical() if series.dtype.is_temporal() else series
    return _codes_of_numbers(plain) if plain.dtype.is_integer() else None


def _codes_of_texts(values: pa.ChunkedArray) -> pl.Series | None:
    some = values.slice(0, _LOOKED_AT)
    if pc.count_distinct(some, mode="all").as_py() > 0.9 * len(some):
        return None
    if len(values) < _MANY:
        return _encoded(values)[0]
    half = len(values) // 2
    with ThreadPoolExecutor(2) as pool:
        (codes, texts), (others, other_texts) = pool.map(_encoded, (values.slice(0, half), values.slice(half)))
    known = pl.Series(pc.index_in(other_texts, value_set=texts)).cast(pl.Int64)
    is_new = known.is_null()
    own = known.zip_with(~is_new, is_new.cast(pl.Int64).cum_sum() + (len(texts) - 1)).cast(pl.UInt32)
    return codes.append(own.gather(others))


def _encoded(values: pa.ChunkedArray) -> tuple[pl.Series, pa.Array]:
    """The place of each text among the different ones, and these."""
    encoded = values.dictionary_encode()
    codes = pa.chunked_array([chunk.indices for chunk in encoded.chunks], pa.int32())
    texts = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], values.type)
    return pl.Series(codes, dtype=pl.UInt32), texts


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
