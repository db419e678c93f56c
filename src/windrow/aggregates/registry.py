"""Every aggregate by its names, and how a call picks its form."""

from __future__ import annotations

from windrow.aggregates import basic, moments, ordered, quantiles
from windrow.aggregates.base import Aggregate

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": basic.COUNT,
    "COUNT_IF": basic.COUNT_IF,
    "COUNT_DISTINCT": basic.COUNT_DISTINCT,
    "SUM": basic.SUM,
    "AVG": basic.AVG,
    "MEAN": basic.AVG,
    "MIN": basic.MIN,
    "MAX": basic.MAX,
    "DELTA": basic.DELTA,
    "BOOL_AND": basic.BOOL_AND,
    "EVERY": basic.BOOL_AND,
    "BOOL_OR": basic.BOOL_OR,
    "SOME": basic.BOOL_OR,
    "ANY": basic.BOOL_OR,
    "VARIANCE": moments.VAR_SAMP,
    "VAR_SAMP": moments.VAR_SAMP,
    "VAR_POP": moments.VAR_POP,
    "STDDEV": moments.STDDEV_SAMP,
    "STD": moments.STDDEV_SAMP,
    "STDDEV_SAMP": moments.STDDEV_SAMP,
    "STDDEV_POP": moments.STDDEV_POP,
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
    "FIRST": ordered.FIRST,
    "FIRST_VALUE": ordered.FIRST,
    "LAST": ordered.LAST,
    "LAST_VALUE": ordered.LAST,
    "ANY_VALUE": ordered.ANY_VALUE,
    "MIN_BY": ordered.MIN_BY,
    "MAX_BY": ordered.MAX_BY,
    "ARRAY_AGG": ordered.ARRAY_AGG,
    "COLLECT_LIST": ordered.ARRAY_AGG,
    "COLLECT_SET": quantiles.COLLECT_SET,
    "STRING_AGG": ordered.STRING_AGG,
    "LISTAGG": ordered.STRING_AGG,
    "MEDIAN": quantiles.MEDIAN,
    "PERCENTILE_CONT": quantiles.PERCENTILE_CONT,
    "PERCENTILE_DISC": quantiles.PERCENTILE_DISC,
}

_DISTINCT = {"COUNT": basic.COUNT_DISTINCT, "ARRAY_AGG": quantiles.COLLECT_SET, "COLLECT_LIST": quantiles.COLLECT_SET}
_DESCENDING = {"PERCENTILE_CONT": quantiles.PERCENTILE_CONT_DESC, "PERCENTILE_DISC": quantiles.PERCENTILE_DISC_DESC}
_BARE = {"STRING_AGG": ordered.STRING_AGG_BARE, "LISTAGG": ordered.STRING_AGG_BARE}
# DISTINCT changes nothing for these.
_INDIFFERENT = {"MIN", "MAX", "BOOL_AND", "BOOL_OR", "EVERY", "SOME", "ANY", "COLLECT_SET", "COUNT_DISTINCT", "DELTA"}


def find_aggregate(name: str, arguments: int, *, is_distinct: bool = False, is_descending: bool = False) -> Aggregate | None:
    """The form of an aggregate that a call means, or None where there is none.

    >>> find_aggregate("count", 1, is_distinct=True) is basic.COUNT_DISTINCT
    True
    """
    key = name.upper()
    if is_distinct and key not in _INDIFFERENT:
        return _DISTINCT.get(key)
    if is_descending and key in _DESCENDING:
        return _DESCENDING[key]
    if arguments == 1 and key in _BARE:
        return _BARE[key]
    return AGGREGATES.get(key)
