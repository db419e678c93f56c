"""Tallies: how often each value was there, as a list of ``(v, c)`` that merges by adding up.

Frequent items and percentiles of bounded state rest on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.aggregates.base import Columns, Part, elements, let
from windrow.lazy import LazyModule

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")


def tally(name: str, value: str, most: int | None = None) -> Part:
    """Every value with its count, of SQL that is NULL where a row does not count.

    Beyond ``most`` values the greatest of the counts that do not fit is taken off every count (Misra and Gries). So a count is never too
    high, and too low by at most the number of rows divided by ``most + 1``, however often tallies are merged.
    """
    is_last = "_i = size(_s) OR NOT element_at(_s, _i) <=> element_at(_s, _i + 1)"
    ends = f"filter(sequence(1, greatest(size(_s), 1)), _i -> _i <= size(_s) AND ({is_last}))"
    before = "IF(_n = 0, 0, element_at(_e, _n))"
    counted = f"transform(_e, (_at, _n) -> named_struct('v', element_at(_s, _at), 'c', CAST(_at - {before} AS BIGINT)))"
    sql = let("_s", f"array_sort(collect_list({value}){{over}})", let("_e", ends, counted))
    return Part(name, sql if most is None else let("_t", sql, _cut(most)), _added(name, most))


def _cut(most: int) -> str:
    beyond = f"element_at(sort_array(transform(_t, _x -> _x.c), false), {most + 1})"
    left = "filter(transform(_t, _x -> named_struct('v', _x.v, 'c', _x.c - _m)), _x -> _x.c > 0)"
    return f"IF(size(_t) <= {most}, _t, {let('_m', beyond, left)})"


def _added(name: str, most: int | None) -> Callable[[Columns], pl.Expr]:
    def merge(columns: Columns) -> pl.Expr:
        every = elements(columns[name]).sort()
        value, running = every.struct.field("v"), every.struct.field("c").cum_sum()
        is_last = value.ne_missing(value.shift(-1)) | (pl.int_range(value.len()) == value.len() - 1)
        totals = running.filter(is_last)
        counts = totals - totals.shift(1, fill_value=0)
        if most is not None:
            counts = counts - counts.sort(descending=True).slice(most, 1).first().fill_null(0)
        return pl.struct(value.filter(is_last).alias("v"), counts.alias("c")).filter(counts > 0).alias(columns[name])

    return merge
