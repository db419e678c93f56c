"""Aggregates of bounded state: exact while a group is small, an estimate beyond that.

Both keep the rows with the least hashes, which is a fair sample that does not depend on the order of rows or on how they were cut
into batches, and that merges by taking the least of both.
"""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, least_elements
from windrow.aggregates.quantiles import of_each_share, stepped
from windrow.model.expr import Call

# Of n distinct hashes, spread evenly, the k-th least tells n with a relative standard deviation of 1 / sqrt(k - 2).
HASHES = 4096
LEAST_DEVIATION = 0.016
_HASH = "CASE WHEN {0} IS NOT NULL THEN xxhash64({0}) END"
_ESTIMATE = f"CAST(round({HASHES - 1} / (array_max({{v}}) / 18446744073709551616D + 0.5D)) AS BIGINT)"
COUNT_DISTINCT = Aggregate(
    (Part("v", f"slice(array_sort(collect_set({_HASH}){{over}}), 1, {HASHES})", least_elements("v", HASHES)),),
    f"CASE WHEN size({{v}}) < {HASHES} THEN CAST(size({{v}}) AS BIGINT) ELSE {_ESTIMATE} END",
    (1,),
)

# A percentile of so many rows is off by half a percent of the ranks, as a standard deviation.
ROWS = 10_000
_ROW = "CASE WHEN {0} IS NOT NULL THEN struct(xxhash64({batch}, {seq}) AS h, {batch} AS b, {seq} AS s, {0} AS v) END"
_SAMPLE = Part("l", f"slice(array_sort(collect_list({_ROW}){{over}}), 1, {ROWS})", least_elements("l", ROWS))


def percentile(call: Call) -> Aggregate:
    """A value that was there, as Spark's: the least whose share of rows reaches the fraction."""
    values = "transform({l}, e -> e.v)"
    return Aggregate((_SAMPLE,), of_each_share(call, 1, lambda share: stepped(share, values)), (1, 2))
