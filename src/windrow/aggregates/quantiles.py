"""Exact medians, percentiles and modes: the values themselves are kept, and looked at when the result is shown."""

from __future__ import annotations

from collections.abc import Callable

from windrow.aggregates.base import Aggregate, FormOfCall, Part, gathered, gathered_set
from windrow.model.expr import Call

_VALUES = Part("l", "collect_list({0}){over}", gathered("l"))
_VALUES_ONCE = Part("l", "collect_set({0}){over}", gathered_set("l"))


def _interpolated(fraction: str) -> str:
    """Interpolates on (n - 1)p: 1..100 gives p50 50.5, p95 95.05, p99 99.01."""
    place = f"((size({{l}}) - 1) * CAST({fraction} AS DOUBLE))"
    low = f"CAST(element_at(array_sort({{l}}), CAST(floor({place}) AS INT) + 1) AS DOUBLE)"
    high = f"CAST(element_at(array_sort({{l}}), CAST(ceil({place}) AS INT) + 1) AS DOUBLE)"
    return f"CASE WHEN size({{l}}) > 0 THEN {low} + ({high} - {low}) * ({place} - floor({place})) END"


def stepped(fraction: str, values: str = "{l}", sign: str = "") -> str:
    """The least value whose share of rows reaches the fraction; with a minus sign counted from the greatest."""
    place = f"{sign}greatest(CAST(ceil(size({values}) * CAST({fraction} AS DOUBLE)) AS INT), 1)"
    return f"CASE WHEN size({values}) > 0 THEN element_at(array_sort({values}), {place}) END"


def of_each_share(call: Call, position: int, value: Callable[[str], str]) -> str:
    """One value, or an array of them where the argument is an array of shares."""
    share = call.args[position] if len(call.args) > position else None
    if not (isinstance(share, Call) and share.name.lower() == "array"):
        return value("{1}")
    return f"CASE WHEN size({{l}}) > 0 THEN transform({{1}}, _share -> {value('_share')}) END"


def _is_descending(call: Call) -> bool:
    return call.within_group[0].descending if call.within_group else False


def _of_ordered_value(value: Callable[[str, bool], str]) -> FormOfCall:
    """{0} is the value that ORDER BY names, {1} the share."""
    return lambda call: Aggregate((_VALUES,), of_each_share(call, 0, lambda share: value(share, _is_descending(call))), (1,))


MEDIAN = Aggregate((_VALUES,), _interpolated("0.5"))
MEDIAN_DISTINCT = Aggregate((_VALUES_ONCE,), _interpolated("0.5"))
percentile_cont = _of_ordered_value(lambda share, is_descending: _interpolated(f"(1 - {share})" if is_descending else share))
percentile_disc = _of_ordered_value(lambda share, is_descending: stepped(share, sign="-" if is_descending else ""))


def percentile(call: Call) -> Aggregate | None:
    """PERCENTILE(x, p). A third argument would weigh the rows."""
    return None if len(call.args) > 2 else Aggregate((_VALUES,), of_each_share(call, 1, _interpolated), (1,))


def percentile_distinct(call: Call) -> Aggregate | None:
    return None if len(call.args) > 2 else Aggregate((_VALUES_ONCE,), of_each_share(call, 1, _interpolated), (1,))


def mode(call: Call) -> Aggregate:
    """The most frequent value. Of several the least, or the greatest by MODE() WITHIN GROUP (ORDER BY x DESC)."""
    beats = ">=" if _is_descending(call) else ">"
    run = "IF(e <=> a.value, a.run + 1, 1)"
    best, longest = f"IF({run} {beats} a.longest, e, a.best)", f"greatest({run}, a.longest)"
    start = "named_struct('best', element_at({l}, 1), 'longest', 0, 'value', element_at({l}, 1), 'run', 0)"
    take = f"(a, e) -> named_struct('best', {best}, 'longest', {longest}, 'value', e, 'run', {run})"
    return Aggregate((_VALUES,), f"CASE WHEN size({{l}}) > 0 THEN aggregate(array_sort({{l}}), {start}, {take}).best END")
