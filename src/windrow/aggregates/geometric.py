"""The geometric mean, merged as the sum of logarithms."""

from __future__ import annotations

from windrow.aggregates.base import Aggregate, Part, Signature, count, total
from windrow.model.types import DOUBLE

_NUMBER = "CAST({0} AS DOUBLE)"

# No root of a product with a negative factor is taken, whatever their number: the sign would come from chance.
GEOMETRIC_MEAN = Aggregate(
    (
        Part("n", "count({0}){over}", count("n")),
        Part("zeros", f"count_if({_NUMBER} = 0){{over}}", count("zeros")),
        Part("negatives", f"count_if({_NUMBER} < 0){{over}}", count("negatives")),
        Part("logs", f"sum(CASE WHEN {_NUMBER} > 0 THEN ln({_NUMBER}) END){{over}}", total("logs")),
    ),
    "CASE WHEN {n} = 0 OR {negatives} > 0 THEN NULL WHEN {zeros} > 0 THEN 0D ELSE exp({logs} / {n}) END",
    signature=Signature(
        "geometric_mean(expr)",
        "the n-th root of the product of n values: 0 where one is 0, NULL where one is negative",
        returns=lambda _: DOUBLE,
        example=("geometric_mean(w)", "4.680694638"),
    ),
)
