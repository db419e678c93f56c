"""DISTINCT forms: the values themselves are kept, each once, and looked at when the result is shown."""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, gathered_set
from windrow.aggregates.moments import KURTOSIS, SKEWNESS, STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from windrow.model.expr import Call

SEEN = Part("v", "collect_set({0}){over}", gathered_set("v"))


def count_distinct(call: Call) -> Aggregate:
    """Of several arguments, combinations in which none is NULL."""
    if len(call.args) < 2:
        return Aggregate((SEEN,), "CAST(size({v}) AS BIGINT)")
    args = [f"{{{i}}}" for i in range(len(call.args))]
    is_there = " AND ".join(f"{arg} IS NOT NULL" for arg in args)
    # Each with a name of its own: the same column may stand there twice.
    named = ", ".join(f"'a{i}', {arg}" for i, arg in enumerate(args))
    whole = f"collect_set(CASE WHEN {is_there} THEN named_struct({named}) END){{over}}"
    return Aggregate((Part("v", whole, gathered_set("v")),), "CAST(size({v}) AS BIGINT)")


COLLECT_SET = Aggregate((SEEN,), "array_sort({v})")
SUM = Aggregate((SEEN,), "{total}", total_of="v")
AVG = Aggregate((SEEN,), "{total} / size({v})", total_of="v", mean_of="v")
# What a value gives with itself is a zero of its type.
BIT_XOR = Aggregate((SEEN,), "CASE WHEN size({v}) > 0 THEN aggregate({v}, element_at({v}, 1) ^ element_at({v}, 1), (a, e) -> a ^ e) END")


def _spread(form: Aggregate) -> Aggregate:
    """The same formula over moments that are worked out of the list."""
    finish = form.finish.replace("{n}", "size({v})")
    for power in (2, 3, 4):
        finish = finish.replace(f"{{m{power}}}", _central_moment(power))
    return Aggregate((SEEN,), finish)


def _central_moment(power: int) -> str:
    mean = "(aggregate({v}, 0D, (a, e) -> a + CAST(e AS DOUBLE)) / size({v}))"
    return f"aggregate({{v}}, 0D, (a, e) -> a + pow(CAST(e AS DOUBLE) - {mean}, {power}))"


VARIANCE_SAMP, VARIANCE_POP = _spread(VAR_SAMP), _spread(VAR_POP)
DEVIATION_SAMP, DEVIATION_POP = _spread(STDDEV_SAMP), _spread(STDDEV_POP)
SKEW, TAIL = _spread(SKEWNESS), _spread(KURTOSIS)
