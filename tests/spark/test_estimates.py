"""Aggregates of bounded state, beyond the size up to which they are exact: as good as they promise, and bounded."""

from __future__ import annotations

import polars as pl
from pyspark.sql import SparkSession

from windrow.aggregates import Aggregate, find_aggregate
from windrow.aggregates.approximate import HASHES, ROWS
from windrow.model.expr import Call, Column, Literal

BATCHES, ROWS_EACH = 4, 25_000


def _merged(spark: SparkSession, form: Aggregate, name: str) -> pl.DataFrame:
    """The state after a few batches of different numbers, merged one after the other."""
    (part,) = form.parts
    state: pl.DataFrame | None = None
    for batch in range(BATCHES):
        sql = part.sql.format("id", "0.5", seq="id", batch=f"{batch}L", time="id", over="")
        rows = spark.range(batch * ROWS_EACH, (batch + 1) * ROWS_EACH, numPartitions=2)
        partial = pl.from_arrow(rows.selectExpr(f"{sql} AS {name}").toArrow())
        assert isinstance(partial, pl.DataFrame)
        both = partial if state is None else pl.concat([state, partial])
        state = both.group_by(pl.lit(1).alias("g")).agg(part.merge({part.name: name})).drop("g")
    assert state is not None
    return state


def _value(spark: SparkSession, form: Aggregate, state: pl.DataFrame, name: str) -> int:
    finish = form.finish.replace("{" + form.parts[0].name + "}", name).replace("{1}", "0.5")
    return int(spark.createDataFrame(state.to_arrow()).selectExpr(f"{finish} AS value").collect()[0][0])


def test_distinct_values_are_counted_within_a_few_percent(spark: SparkSession) -> None:
    form = find_aggregate(Call("approx_count_distinct", (Column("id"),)))
    assert form is not None
    state = _merged(spark, form, "v")
    assert state["v"].list.len().to_list() == [HASHES]
    assert abs(_value(spark, form, state, "v") / (BATCHES * ROWS_EACH) - 1) < 0.06


def test_a_percentile_of_many_rows_is_near_its_rank(spark: SparkSession) -> None:
    form = find_aggregate(Call("approx_percentile", (Column("id"), Literal(0.5))))
    assert form is not None
    state = _merged(spark, form, "l")
    assert state["l"].list.len().to_list() == [ROWS]
    assert abs(_value(spark, form, state, "l") / (BATCHES * ROWS_EACH) - 0.5) < 0.02
