"""Histograms: rows counted between bounds, exactly and in as much state as there are bounds."""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, count
from windrow.model.expr import Call


def histogram(call: Call) -> Aggregate | None:
    """HISTOGRAM(x, 1, 5, 10): up to 1, above 1 up to 5, above 5 up to 10, above 10."""
    bounds = range(1, len(call.args))
    if not bounds:
        return None
    within = [Part(f"c{i}", f"count_if({{0}} <= {{{i}}}){{over}}", count(f"c{i}")) for i in bounds]
    every = Part("n", "count({0}){over}", count("n"))
    below = ["0", *(f"{{c{i}}}" for i in bounds)]
    counts = [f"{upper} - {lower}" for lower, upper in zip(below, [*below[1:], "{n}"], strict=True)]
    return Aggregate((every, *within), f"array({', '.join(counts)})", tuple(bounds))
