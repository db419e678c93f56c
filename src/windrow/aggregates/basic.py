"""Counts, sums, extremes and truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.aggregates.base import Aggregate, Columns, Part, count, greatest, least, total
from windrow.lazy import LazyModule
from windrow.model.accumulation import Accumulation
from windrow.model.expr import Call

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")


def _count(*args: str) -> Part:
    counts = " AND ".join(f"({arg}) IS NOT NULL" for arg in args)
    return Part("n", f"count({', '.join(args)}){{over}}", count("n"), f"CASE WHEN {counts} THEN 1L ELSE 0L END", Accumulation.TOTAL)


def count_rows(call: Call) -> Aggregate:
    """COUNT(*), COUNT(x), and COUNT(a, b): rows where none of them is NULL."""
    return Aggregate((_count(*(f"{{{i}}}" for i in range(max(1, len(call.args))))),), "{n}")


def _least(name: str) -> Part:
    return Part(name, "min({0}){over}", least(name), "{0}", Accumulation.LEAST)


def _greatest(name: str) -> Part:
    return Part(name, "max({0}){over}", greatest(name), "{0}", Accumulation.GREATEST)


_N = _count("{0}")
_S = Part("s", "sum({0}){over}", total("s"), "{0}", Accumulation.TOTAL)
COUNT_IF = Aggregate((Part("n", "count_if({0}){over}", count("n"), "CASE WHEN {0} THEN 1L ELSE 0L END", Accumulation.TOTAL),), "{n}")
SUM = Aggregate((_S,), "{s}")
AVG = Aggregate((_S, _N), "{s} / {n}", mean_of="s")
MIN = Aggregate((_least("m"),), "{m}")
MAX = Aggregate((_greatest("m"),), "{m}")
DELTA = Aggregate((_least("lo"), _greatest("hi")), "{hi} - {lo}")
BOOL_AND = Aggregate((Part("b", "bool_and({0}){over}", least("b")),), "{b}")
BOOL_OR = Aggregate((Part("b", "bool_or({0}){over}", greatest("b")),), "{b}")

# By how much a 64-bit sum that has overflowed is wrong, at least; rounding to DOUBLE is far less.
_WRAP = 2.0**62


def _total_or_null(columns: Columns) -> pl.Expr:
    """NULL where a partial overflowed (it has values and no sum) or the sum of them does."""
    sums, counts = pl.col(columns["s"]), pl.col(columns["n"])
    is_lost = (sums.is_null() & (counts > 0)).any()
    # Infinities and NaN, which only sums of DOUBLE have, wrap nothing.
    has_wrapped = (sums.sum().cast(pl.Float64) - sums.cast(pl.Float64).sum()).fill_nan(0.0).abs() > _WRAP
    is_known = sums.is_not_null().any() & ~is_lost & ~has_wrapped
    return pl.when(is_known).then(sums.sum()).otherwise(None).alias(columns["s"])


TRY_SUM = Aggregate((Part("s", "try_sum({0}){over}", _total_or_null), _N), "{s}")


def _bits(combine: Callable[[pl.Expr], pl.Expr]) -> Callable[[Columns], pl.Expr]:
    return lambda columns: combine(pl.col(columns["b"]).drop_nulls()).alias(columns["b"])


BIT_AND = Aggregate((Part("b", "bit_and({0}){over}", _bits(lambda bits: bits.bitwise_and())),), "{b}")
BIT_OR = Aggregate((Part("b", "bit_or({0}){over}", _bits(lambda bits: bits.bitwise_or())),), "{b}")
BIT_XOR = Aggregate((Part("b", "bit_xor({0}){over}", _bits(lambda bits: bits.bitwise_xor())),), "{b}")
