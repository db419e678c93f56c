"""Every aggregate by its names, and how a call picks its form. Installed packages may bring more."""

from __future__ import annotations

from windrow.aggregates import approximate, basic, distinct, geometric, histogram, moments, ordered, quantiles, series, sketches
from windrow.aggregates.base import Aggregate, FormOfCall
from windrow.model.expr import Call
from windrow.plugins import AGGREGATES as GROUP
from windrow.plugins import load_plugin

AGGREGATES: dict[str, Aggregate | FormOfCall] = {
    "COUNT": basic.count_rows,
    "COUNT_IF": basic.COUNT_IF,
    "COUNT_DISTINCT": distinct.count_distinct,
    "APPROX_COUNT_DISTINCT": approximate.COUNT_DISTINCT,
    "SUM": basic.SUM,
    "TRY_SUM": basic.TRY_SUM,
    "AVG": basic.AVG,
    "MEAN": basic.AVG,
    "TRY_AVG": basic.AVG,
    "GEOMETRIC_MEAN": geometric.GEOMETRIC_MEAN,
    "MIN": basic.MIN,
    "MAX": basic.MAX,
    "DELTA": basic.DELTA,
    "BOOL_AND": basic.BOOL_AND,
    "EVERY": basic.BOOL_AND,
    "BOOL_OR": basic.BOOL_OR,
    "SOME": basic.BOOL_OR,
    "ANY": basic.BOOL_OR,
    "BIT_AND": basic.BIT_AND,
    "BIT_OR": basic.BIT_OR,
    "BIT_XOR": basic.BIT_XOR,
    "VARIANCE": moments.VAR_SAMP,
    "VAR_SAMP": moments.VAR_SAMP,
    "VAR_POP": moments.VAR_POP,
    "STDDEV": moments.STDDEV_SAMP,
    "STD": moments.STDDEV_SAMP,
    "STDDEV_SAMP": moments.STDDEV_SAMP,
    "STDDEV_POP": moments.STDDEV_POP,
    "SKEWNESS": moments.SKEWNESS,
    "KURTOSIS": moments.KURTOSIS,
    "COVAR_SAMP": moments.COVAR_SAMP,
    "COVAR_POP": moments.COVAR_POP,
    "CORR": moments.CORR,
    "REGR_COUNT": moments.REGR_COUNT,
    "REGR_AVGX": moments.REGR_AVGX,
    "REGR_AVGY": moments.REGR_AVGY,
    "REGR_SXX": moments.REGR_SXX,
    "REGR_SYY": moments.REGR_SYY,
    "REGR_SXY": moments.REGR_SXY,
    "REGR_SLOPE": moments.REGR_SLOPE,
    "REGR_INTERCEPT": moments.REGR_INTERCEPT,
    "REGR_R2": moments.REGR_R2,
    "FIRST": ordered.first,
    "FIRST_VALUE": ordered.first,
    "EARLIEST_BY_OFFSET": ordered.first,
    "LAST": ordered.last,
    "LAST_VALUE": ordered.last,
    "LATEST_BY_OFFSET": ordered.last,
    "EARLIEST": ordered.EARLIEST,
    "LATEST": ordered.LATEST,
    "ANY_VALUE": ordered.ANY_VALUE,
    "MIN_BY": ordered.min_by,
    "MAX_BY": ordered.max_by,
    "ARRAY_AGG": ordered.array_agg,
    "COLLECT_LIST": ordered.array_agg,
    "COLLECT_SET": distinct.COLLECT_SET,
    "STRING_AGG": ordered.string_agg,
    "LISTAGG": ordered.string_agg,
    "MODE": quantiles.mode,
    "MEDIAN": quantiles.MEDIAN,
    "PERCENTILE": quantiles.percentile,
    "PERCENTILE_CONT": quantiles.percentile_cont,
    "PERCENTILE_DISC": quantiles.percentile_disc,
    "PERCENTILE_APPROX": approximate.percentile,
    "APPROX_PERCENTILE": approximate.percentile,
    "PERCENTILE_SKETCH": sketches.percentile_sketch,
    "HLL_SKETCH_AGG": sketches.hll_sketch,
    "HLL_UNION_AGG": sketches.hll_union,
    "APPROX_TOP_K": sketches.top_k,
    "HISTOGRAM": histogram.histogram,
    "EWMA": series.EWMA,
    "ZSCORE": series.ZSCORE,
    "ANOMALY": series.ANOMALY,
    "INCREASE": series.INCREASE,
    "RATE": series.RATE,
}

_DISTINCT: dict[str, Aggregate | FormOfCall] = {
    "COUNT": distinct.count_distinct,
    "SUM": distinct.SUM,
    "AVG": distinct.AVG,
    "MEAN": distinct.AVG,
    "TRY_AVG": distinct.AVG,
    "BIT_XOR": distinct.BIT_XOR,
    "VARIANCE": distinct.VARIANCE_SAMP,
    "VAR_SAMP": distinct.VARIANCE_SAMP,
    "VAR_POP": distinct.VARIANCE_POP,
    "STDDEV": distinct.DEVIATION_SAMP,
    "STD": distinct.DEVIATION_SAMP,
    "STDDEV_SAMP": distinct.DEVIATION_SAMP,
    "STDDEV_POP": distinct.DEVIATION_POP,
    "SKEWNESS": distinct.SKEW,
    "KURTOSIS": distinct.TAIL,
    "ARRAY_AGG": ordered.array_agg_distinct,
    "COLLECT_LIST": ordered.array_agg_distinct,
    "STRING_AGG": ordered.string_agg_distinct,
    "LISTAGG": ordered.string_agg_distinct,
    "MEDIAN": quantiles.MEDIAN_DISTINCT,
    "PERCENTILE": quantiles.percentile_distinct,
}
# What the planner asks for, under names that no query can spell: {0} is the whole row.
ALL_ROWS, LAST_ROW = "rows of the window", "row of the window"
_OF_WHOLE_ROWS: dict[str, Aggregate] = {ALL_ROWS: ordered.ROWS_OF_WINDOW, LAST_ROW: ordered.ROW_OF_WINDOW}
# DISTINCT changes nothing for these.
_INDIFFERENT = frozenset(
    "MIN MAX DELTA BOOL_AND BOOL_OR EVERY SOME ANY BIT_AND BIT_OR COLLECT_SET COUNT_DISTINCT APPROX_COUNT_DISTINCT FIRST FIRST_VALUE "
    "HLL_SKETCH_AGG HLL_UNION_AGG EARLIEST EARLIEST_BY_OFFSET ANY_VALUE MIN_BY MAX_BY".split()
)


def takes_whole_rows(call: Call) -> bool:
    return call.name in _OF_WHOLE_ROWS


def find_aggregate(call: Call) -> Aggregate | None:
    """The form of an aggregate that a call means, or None where there is none.

    >>> find_aggregate(Call("max", distinct=True)) is basic.MAX
    True
    """
    if call.name in _OF_WHOLE_ROWS:
        return _OF_WHOLE_ROWS[call.name]
    key = call.name.upper()
    forms = _DISTINCT if call.distinct and key not in _INDIFFERENT else AGGREGATES
    form = forms.get(key)
    if form is None and key not in AGGREGATES and not call.distinct:
        form = load_plugin(GROUP, key, Aggregate)
    return form if form is None or isinstance(form, Aggregate) else form(call)
