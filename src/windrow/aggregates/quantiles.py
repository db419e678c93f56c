"""Exact medians and percentiles: the values themselves are kept, and looked at when the result is shown."""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, gathered, gathered_set

_VALUES = Part("l", "collect_list({0}){over}", gathered("l"))
COLLECT_SET = Aggregate((Part("l", "collect_set({0}){over}", gathered_set("l")),), "array_sort({l})")


def _interpolated(fraction: str) -> str:
    """Interpolates on (n - 1)p: 1..100 gives p50 50.5, p95 95.05, p99 99.01."""
    place = f"((size({{l}}) - 1) * CAST({fraction} AS DOUBLE))"
    low = f"CAST(element_at(array_sort({{l}}), CAST(floor({place}) AS INT) + 1) AS DOUBLE)"
    high = f"CAST(element_at(array_sort({{l}}), CAST(ceil({place}) AS INT) + 1) AS DOUBLE)"
    return f"CASE WHEN size({{l}}) > 0 THEN {low} + ({high} - {low}) * ({place} - floor({place})) END"


def _stepped(fraction: str) -> str:
    """The least value whose share of rows reaches the fraction."""
    place = f"greatest(CAST(ceil(size({{l}}) * CAST({fraction} AS DOUBLE)) AS INT), 1)"
    return f"CASE WHEN size({{l}}) > 0 THEN element_at(array_sort({{l}}), {place}) END"


MEDIAN = Aggregate((_VALUES,), _interpolated("0.5"))
# {0} is the ordered value, {1} the fraction; DESC turns the fraction round.
PERCENTILE_CONT = Aggregate((_VALUES,), _interpolated("{1}"), (1,))
PERCENTILE_CONT_DESC = Aggregate((_VALUES,), _interpolated("(1 - {1})"), (1,))
PERCENTILE_DISC = Aggregate((_VALUES,), _stepped("{1}"), (1,))
PERCENTILE_DISC_DESC = Aggregate(
    (_VALUES,),
    "CASE WHEN size({l}) > 0 THEN element_at(array_sort({l}), -greatest(CAST(ceil(size({l}) * CAST({1} AS DOUBLE)) AS INT), 1)) END",
    (1,),
)
