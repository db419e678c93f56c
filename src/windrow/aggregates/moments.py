"""Variance and its relatives: merged with Chan's formula, never with sums of squares, so that large means lose no digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.aggregates.base import Aggregate, Columns, Part, count
from windrow.lazy import LazyModule

if TYPE_CHECKING:
    import polars as pl
else:
    pl = LazyModule("polars")


def _mean(name: str, weight: str) -> Callable[[Columns], pl.Expr]:
    return lambda columns: _weighted_mean(columns[name], columns[weight]).alias(columns[name])


def _weighted_mean(value: str, weight: str) -> pl.Expr:
    """NULL of nothing: a NaN would stay for ever, whatever comes to it."""
    total = pl.col(weight).sum()
    return pl.when(total > 0).then((pl.col(value) * pl.col(weight)).sum() / total)


def _co_moment(moment: str, x: str, y: str, weight: str) -> Callable[[Columns], pl.Expr]:
    """Sum of products of deviations: the parts' own, plus that of their means around the common mean."""

    def merge(columns: Columns) -> pl.Expr:
        weights = pl.col(columns[weight])
        dx = pl.col(columns[x]) - _weighted_mean(columns[x], columns[weight])
        dy = pl.col(columns[y]) - _weighted_mean(columns[y], columns[weight])
        return (pl.col(columns[moment]).sum() + (weights * dx * dy).sum()).alias(columns[moment])

    return merge


_N = Part("n", "count({0}){over}", count("n"))
_MEAN = Part("mean", "avg(CAST({0} AS DOUBLE)){over}", _mean("mean", "n"))
_M2 = Part("m2", "var_pop(CAST({0} AS DOUBLE)){over} * count({0}){over}", _co_moment("m2", "mean", "mean", "n"))
_SPREAD = (_N, _MEAN, _M2)

VAR_SAMP = Aggregate(_SPREAD, "CASE WHEN {n} > 1 THEN {m2} / ({n} - 1) END")
VAR_POP = Aggregate(_SPREAD, "CASE WHEN {n} > 0 THEN {m2} / {n} END")
STDDEV_SAMP = Aggregate(_SPREAD, "CASE WHEN {n} > 1 THEN sqrt({m2} / ({n} - 1)) END")
STDDEV_POP = Aggregate(_SPREAD, "CASE WHEN {n} > 0 THEN sqrt({m2} / {n}) END")


def _third(columns: Columns) -> pl.Expr:
    m3, m2, n = pl.col(columns["m3"]), pl.col(columns["m2"]), pl.col(columns["n"])
    d = pl.col(columns["mean"]) - _weighted_mean(columns["mean"], columns["n"])
    return (m3.sum() + (3 * d * m2 + n * d**3).sum()).alias(columns["m3"])


def _fourth(columns: Columns) -> pl.Expr:
    m4, m3, m2, n = (pl.col(columns[name]) for name in ("m4", "m3", "m2", "n"))
    d = pl.col(columns["mean"]) - _weighted_mean(columns["mean"], columns["n"])
    return (m4.sum() + (4 * d * m3 + 6 * d**2 * m2 + n * d**4).sum()).alias(columns["m4"])


# Spark tells skewness and kurtosis, of which the sums of third and fourth powers of deviations are worked out again.
_X0 = "CAST({0} AS DOUBLE)"
_M2_SQL = f"(var_pop({_X0}){{over}} * count({{0}}){{over}})"
_M3 = Part("m3", f"coalesce(skewness({_X0}){{over}} * pow({_M2_SQL}, 1.5D) / sqrt(count({{0}}){{over}}), 0D)", _third)
_M4 = Part("m4", f"coalesce((kurtosis({_X0}){{over}} + 3) * {_M2_SQL} * {_M2_SQL} / count({{0}}){{over}}, 0D)", _fourth)
SKEWNESS = Aggregate((*_SPREAD, _M3), "CASE WHEN {m2} > 0 THEN sqrt({n}) * {m3} / pow({m2}, 1.5D) END")
KURTOSIS = Aggregate((*_SPREAD, _M3, _M4), "CASE WHEN {m2} > 0 THEN {n} * {m4} / ({m2} * {m2}) - 3 END")

# Two-argument forms look only at rows where both are there. {0} is y and {1} is x, as in REGR_SLOPE(y, x).
_X = "CASE WHEN {0} IS NOT NULL THEN CAST({1} AS DOUBLE) END"
_Y = "CASE WHEN {1} IS NOT NULL THEN CAST({0} AS DOUBLE) END"
_PAIRS = Part("n", f"count({_Y}){{over}}", count("n"))
_PAIRED = (
    _PAIRS,
    Part("mx", f"avg({_X}){{over}}", _mean("mx", "n")),
    Part("my", f"avg({_Y}){{over}}", _mean("my", "n")),
    Part("mxx", f"var_pop({_X}){{over}} * count({_Y}){{over}}", _co_moment("mxx", "mx", "mx", "n")),
    Part("myy", f"var_pop({_Y}){{over}} * count({_Y}){{over}}", _co_moment("myy", "my", "my", "n")),
    Part("mxy", f"covar_pop({_X}, {_Y}){{over}} * count({_Y}){{over}}", _co_moment("mxy", "mx", "my", "n")),
)


def _paired(finish: str) -> Aggregate:
    return Aggregate(_PAIRED, finish)


COVAR_SAMP = _paired("CASE WHEN {n} > 1 THEN {mxy} / ({n} - 1) END")
COVAR_POP = _paired("CASE WHEN {n} > 0 THEN {mxy} / {n} END")
CORR = _paired("CASE WHEN {n} > 1 AND {mxx} > 0 AND {myy} > 0 THEN {mxy} / sqrt({mxx} * {myy}) END")
REGR_COUNT = _paired("{n}")
REGR_AVGX = _paired("{mx}")
REGR_AVGY = _paired("{my}")
REGR_SXX = _paired("CASE WHEN {n} > 0 THEN {mxx} END")
REGR_SYY = _paired("CASE WHEN {n} > 0 THEN {myy} END")
REGR_SXY = _paired("CASE WHEN {n} > 0 THEN {mxy} END")
REGR_SLOPE = _paired("CASE WHEN {n} > 1 AND {mxx} > 0 THEN {mxy} / {mxx} END")
REGR_INTERCEPT = _paired("CASE WHEN {n} > 1 AND {mxx} > 0 THEN {my} - {mxy} / {mxx} * {mx} END")
REGR_R2 = _paired("CASE WHEN {n} > 1 AND {mxx} > 0 THEN CASE WHEN {myy} = 0 THEN 1.0D ELSE {mxy} * {mxy} / ({mxx} * {myy}) END END")
