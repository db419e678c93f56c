"""Aggregates of a series: values in the order of their event time, and by arrival where that is the same.

The values are kept while the group is, as those of a median are, so that neither a late row nor the cut into batches changes the result.
"""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, Signature, gathered, let
from windrow.model.types import BOOLEAN, DOUBLE

_ROW = "CASE WHEN {0} IS NOT NULL THEN struct({time} AS t, {batch} AS b, {seq} AS s, CAST({0} AS DOUBLE) AS v) END"
_SERIES = (Part("l", f"collect_list({_ROW}){{over}}", gathered("l")),)
_SORTED = "array_sort({l})"
_VALUES = f"transform({_SORTED}, e -> e.v)"


def _sum(values: str, of: str) -> str:
    return f"aggregate({values}, 0D, (_total, x) -> _total + {of})"


def _against_the_others(body: str) -> str:
    """``body`` over the last value ``x``, and mean ``m`` and deviation ``d`` of those before it; NULL where these are fewer than two."""
    deviation = f"sqrt({_sum('o', '(x - m) * (x - m)')} / (size(o) - 1))"
    others = let("m", f"{_sum('o', 'x')} / size(o)", let("d", deviation, let("x", "element_at(v, -1)", body)))
    return let("v", _VALUES, f"CASE WHEN size(v) > 2 THEN {let('o', 'slice(v, 1, size(v) - 1)', others)} END")


def _series(finish: str, text: str, doc: str, example: tuple[str, str], *, count: int = 1, is_truth: bool = False) -> Aggregate:
    signature = Signature(text, doc, lambda _: BOOLEAN if is_truth else DOUBLE, example, (count,))
    return Aggregate(_SERIES, finish, (1,) if count > 1 else (), signature=signature)


EWMA = _series(
    let("v", _VALUES, "CASE WHEN size(v) > 0 THEN aggregate(slice(v, 2, size(v)), v[0], (a, x) -> a + CAST({1} AS DOUBLE) * (x - a)) END"),
    "ewma(expr, weight)",
    "the exponentially weighted moving average in event time, which gives each value this weight and what was before it the rest",
    ("ewma(w, 0.5)", "7.25"),
    count=2,
)
ZSCORE = _series(
    _against_the_others("CASE WHEN d > 0 THEN (x - m) / d END"),
    "zscore(expr)",
    "how many deviations the last value in event time is above the mean of those before it; NULL if these are fewer than two or equal",
    ("zscore(w)", "3.0"),
)
ANOMALY = _series(
    _against_the_others("CASE WHEN d > 0 THEN abs(x - m) > CAST({1} AS DOUBLE) * d ELSE x <> m END"),
    "anomaly(expr, deviations)",
    "whether the last value in event time is so many standard deviations off the mean of those before it; NULL below two of them",
    ("anomaly(w, 2.5)", "true"),
    count=2,
    is_truth=True,
)
# A counter that falls has begun again at zero.
_STEP = "CASE WHEN a.p IS NULL THEN 0D WHEN x < a.p THEN x ELSE x - a.p END"
_START = "named_struct('p', CAST(NULL AS DOUBLE), 'i', 0D)"
_GROWTH = f"aggregate({_VALUES}, {_START}, (a, x) -> named_struct('p', x, 'i', a.i + {_STEP})).i"
_SECONDS = f"((element_at({_SORTED}, -1).t - element_at({_SORTED}, 1).t) / 1000000D)"
INCREASE = _series(
    f"CASE WHEN size({{l}}) > 1 THEN {_GROWTH} END",
    "increase(counter)",
    "by how much a counter grew from its first value in event time to its last; one that falls began again at 0; NULL below two values",
    ("increase(w)", "8.0"),
)
RATE = _series(
    f"CASE WHEN size({{l}}) > 1 AND {_SECONDS} > 0 THEN {_GROWTH} / {_SECONDS} END",
    "rate(counter)",
    "the increase of a counter for each second between its first value and its last; NULL where they have the same time",
    ("rate(w)", "2.666666667"),
)
