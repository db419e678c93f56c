"""HARMONIC_MEAN: the mean of rates. It merges as two sums, so it does not depend on how rows are cut into batches."""

from windrow.aggregates import Aggregate, Part, Signature
from windrow.aggregates.base import count, total
from windrow.model.types import DOUBLE

HARMONIC_MEAN = Aggregate(
    (Part("s", "sum(1.0D / {0}){over}", total("s")), Part("n", "count({0}){over}", count("n"))),
    "{n} / {s}",
    signature=Signature("harmonic_mean(expr)", "the harmonic mean of positive numbers", returns=lambda _: DOUBLE),
)
