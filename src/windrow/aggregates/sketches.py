"""Sketches: state of bounded size that merges, with an error that is stated, and the same result however rows were cut or run again."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from windrow.aggregates.base import Aggregate, Columns, Part, let
from windrow.aggregates.hyperloglog import union
from windrow.aggregates.quantiles import of_each_share
from windrow.aggregates.tallies import tally
from windrow.lazy import LazyModule
from windrow.model.expr import Call, Literal

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")


def _union(columns: Columns) -> pl.Expr:
    column = columns["h"]
    merged = pl.col(column).implode().map_elements(lambda each: union(each.to_list()), return_dtype=pl.Binary, skip_nulls=False)
    return merged.alias(column)


# Spark estimates a sketch that was never merged in another way, which depends on the order of rows: a union with itself is merged.
_MERGED = "hll_union({h}, {h})"


def hll_sketch(call: Call) -> Aggregate:
    """HLL_SKETCH_AGG(x [, lgConfigK])."""
    args = ", ".join(f"{{{position}}}" for position in range(len(call.args)))
    return Aggregate((Part("h", f"hll_sketch_agg({args}){{over}}", _union),), _MERGED, tuple(range(1, len(call.args))))


def hll_union(call: Call) -> Aggregate | None:
    """HLL_UNION_AGG(sketch): as large as the smallest of them, so that none has to be refused."""
    return None if len(call.args) > 1 else Aggregate((Part("h", "hll_union_agg({0}, true){over}", _union),), _MERGED)


# What Spark tracks by itself.
SHOWN, TRACKED, MOST_TRACKED = 5, 10_000, 1_000_000
_BY_COUNT = "array_sort(transform({l}, e -> named_struct('c', -e.c, 'v', e.v)))"


def top_k(call: Call) -> Aggregate:
    """APPROX_TOP_K(x [, k [, tracked]]): the most frequent values, and of equally frequent ones the least."""
    shown, tracked = int(_number(call, 1, SHOWN)), int(_number(call, 2, TRACKED))
    value = f"transform(slice({_BY_COUNT}, 1, {shown}), e -> named_struct('item', e.v, 'count', -e.c))"
    return Aggregate((tally("l", "{0}", tracked),), value, tuple(range(1, len(call.args))))


# Of values that are infinite or no number.
_BEYOND, _NOT_A_NUMBER = 2_000_000_000, 2_000_000_001
# Puts the bucket of every positive double above 0: the least of them is 5e-324.
_SHIFT = 1_000_000_000
LEAST_ERROR, ERROR, GREATEST_ERROR = 0.00001, 0.01, 0.5


def percentile_sketch(call: Call) -> Aggregate:
    """PERCENTILE_SKETCH(x, p [, error]): rows counted in buckets whose bounds grow by a fixed ratio (Masson, Rim and Lee's DDSketch)."""
    error = min(max(_number(call, 2, ERROR), LEAST_ERROR), GREATEST_ERROR)
    ratio = (1 + error) / (1 - error)
    x = "CAST({0} AS DOUBLE)"
    place = f"CAST(ceil(ln(abs({x})) / {log(ratio)!r}D) AS INT) + {_SHIFT}"
    bucket = (
        f"CASE WHEN {x} IS NULL THEN NULL WHEN isnan({x}) THEN {_NOT_A_NUMBER} WHEN {x} = 0 THEN 0"
        f" WHEN abs({x}) = CAST('Infinity' AS DOUBLE) THEN CAST(sign({x}) AS INT) * {_BEYOND} ELSE CAST(sign({x}) AS INT) * ({place}) END"
    )
    middle = f"sign(_b) * 2 * exp((abs(_b) - {_SHIFT}) * {log(ratio)!r}D) / {1 + ratio!r}D"
    value = (
        f"CASE WHEN _b = {_NOT_A_NUMBER} THEN CAST('NaN' AS DOUBLE) WHEN abs(_b) = {_BEYOND} THEN sign(_b) * CAST('Infinity' AS DOUBLE)"
        f" WHEN _b = 0 THEN 0D ELSE {middle} END"
    )
    return Aggregate((tally("l", bucket),), of_each_share(call, 1, lambda share: _interpolated(value, share)), (1, 2))


def _interpolated(value: str, share: str) -> str:
    """As PERCENTILE_CONT, on (n - 1)p, with the value of its bucket for each of the two rows."""
    start = "named_struct('n', 0L, 'b', CAST(NULL AS INT))"

    def at(place: str) -> str:
        step = f"named_struct('n', a.n + e.c, 'b', IF(a.b IS NULL AND a.n + e.c > {place}, e.v, a.b))"
        return let("_b", f"aggregate({{l}}, {start}, (a, e) -> {step}).b", value)

    place = f"(aggregate({{l}}, 0L, (a, e) -> a + e.c) - 1) * CAST({share} AS DOUBLE)"
    between = let("_l", at("floor(_p)"), f"IF(_p = floor(_p), _l, _l + ({at('ceil(_p)')} - _l) * (_p - floor(_p)))")
    return f"CASE WHEN size({{l}}) > 0 THEN {let('_p', place, between)} END"


def _number(call: Call, position: int, otherwise: float) -> float:
    """What is written there. What is no number, or none that can be, is told by a rule; here it stands for nothing."""
    argument = call.args[position] if len(call.args) > position else None
    value = argument.value if isinstance(argument, Literal) else None
    return otherwise if value is None or isinstance(value, str | bytes | bool) else float(value)
