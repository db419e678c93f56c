"""What every aggregate does."""

from __future__ import annotations

import random
from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from windrow.aggregates import find_aggregate
from windrow.model.expr import Call

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AggregateContract(ABC):
    """An aggregate gives the same whatever order its rows come in and however they are cut into partials.

    ``examples`` are lists of values with what the aggregate makes of them.
    """

    name: ClassVar[str]
    type: ClassVar[str] = "DOUBLE"
    examples: ClassVar[Sequence[tuple[Sequence[Any], Any]]]
    tolerance: ClassVar[float] = 1e-9

    def test_examples_however_they_are_cut(self, spark: SparkSession) -> None:
        for values, expected in self.examples:
            for seed in range(4):
                assert_close(self._result(spark, values, seed), expected, self.tolerance)

    def _result(self, spark: SparkSession, values: Sequence[Any], seed: int) -> Any:
        form = find_aggregate(Call(self.name))
        assert form is not None, f"there is no aggregate {self.name}"
        chance = random.Random(seed)
        rows = [(chance.randrange(3), value) for value in chance.sample(list(values), len(values))]
        frame = (
            spark.createDataFrame(rows, f"piece INT, v {self.type}")
            if rows
            else spark.createDataFrame([(0, None)], f"piece INT, v {self.type}")
        )
        fillings = {"over": "", "seq": "0L", "batch": "0L", "time": "0L"}
        parts = [f"{part.sql.format('v', **fillings)} AS `{part.name}`" for part in form.parts]
        partials = pl.from_arrow(frame.groupBy("piece").agg(*map(_expr, parts)).drop("piece").toArrow())
        assert isinstance(partials, pl.DataFrame)
        names = {part.name: part.name for part in form.parts}
        merged = partials.sample(fraction=1.0, shuffle=True, seed=seed).select(part.merge(names).alias(part.name) for part in form.parts)
        finish = form.finish.format("v", **{name: f"`{name}`" for name in names})
        return spark.createDataFrame(merged.to_arrow()).selectExpr(f"{finish} AS r").collect()[0]["r"]


def _expr(text: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(text)


def assert_close(got: Any, expected: Any, tolerance: float) -> None:
    """Equal, or for numbers as near as that, relative to what is expected."""
    if isinstance(got, float) and isinstance(expected, int | float):
        assert abs(got - expected) <= tolerance * max(1.0, abs(expected)), f"{got} is not {expected}"
    else:
        assert got == expected, f"{got!r} is not {expected!r}"
