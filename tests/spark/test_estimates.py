"""Aggregates of bounded state, beyond the size up to which they are exact: as good as they promise, and bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from windrow.aggregates import Aggregate, find_aggregate
from windrow.aggregates.approximate import HASHES, ROWS
from windrow.model.expr import Call, Column, Expr, Literal

BATCHES, ROWS_EACH = 4, 25_000
ROWS_IN_ALL = BATCHES * ROWS_EACH
# Numbers from 0 to 1 without 0 that look thrown, and others that do not depend on them.
U, V = (f"((pmod(xxhash64(id, {seed}), 1000000007) + 1) / 1000000008D)" for seed in (1, 2))
NORMAL = f"(sqrt(-2 * ln({U})) * cos(2 * pi() * {V}))"
# A value by the id of its row.
DISTRIBUTIONS = {
    "uniform": f"{U} * 1000",
    "normal": f"100 + 15 * {NORMAL}",
    "around_zero": NORMAL,
    "exponential": f"-ln({U}) * 250",
    "log_normal": f"exp(5 + 2 * {NORMAL})",
    "pareto": f"pow({U}, -1 / 1.2D)",
    "two_humps": f"IF({V} < 0.9, 20 + {NORMAL}, 2000 + 50 * {NORMAL})",
    "steps": f"CAST(floor({U} * 12) AS DOUBLE)",
    "constant": "42D",
    "tiny_and_huge": f"pow(10D, 24 * {U} - 12)",
}
SHARES = (0.01, 0.5, 0.9, 0.99, 0.999)


def _rows(spark: SparkSession, batch: int, *columns: str) -> DataFrame:
    return spark.range(batch * ROWS_EACH, (batch + 1) * ROWS_EACH, numPartitions=2).selectExpr("id", *columns)


def _merged(
    spark: SparkSession, forms: Mapping[str, tuple[Aggregate, Sequence[str]]], *columns: str, backwards: bool = False
) -> pl.DataFrame:
    """The state after a few batches of different numbers, merged one after the other. ``forms`` have the SQL of their arguments."""
    state: pl.DataFrame | None = None
    merges = [form.parts[0].merge({form.parts[0].name: name}) for name, (form, _) in forms.items()]
    for batch in reversed(range(BATCHES)) if backwards else range(BATCHES):
        sql = (
            f"{form.parts[0].sql.format(*args, seq='id', batch=f'{batch}L', time='id', over='')} AS {name}"
            for name, (form, args) in forms.items()
        )
        partial = pl.from_arrow(_rows(spark, batch, *columns).selectExpr(*sql).toArrow())
        assert isinstance(partial, pl.DataFrame)
        both = partial if state is None else pl.concat([state, partial])
        state = both.group_by(pl.lit(1).alias("g")).agg(merges).drop("g")
    assert state is not None
    return state


def _finish(form: Aggregate, name: str, *args: str) -> str:
    return form.finish.replace("{" + form.parts[0].name + "}", name).format(*args)


def _form(name: str, *args: Expr) -> Aggregate:
    form = find_aggregate(Call(name, (Column("id"), *args)))
    assert form is not None
    return form


def _value(spark: SparkSession, form: Aggregate, state: pl.DataFrame, name: str) -> int:
    return int(spark.createDataFrame(state.to_arrow()).selectExpr(f"{_finish(form, name, 'id', '0.5')} AS value").collect()[0][0])


def test_distinct_values_are_counted_within_a_few_percent(spark: SparkSession) -> None:
    form = _form("approx_count_distinct")
    state = _merged(spark, {"v": (form, ["id"])})
    assert state["v"].list.len().to_list() == [HASHES]
    assert abs(_value(spark, form, state, "v") / ROWS_IN_ALL - 1) < 0.06


def test_a_percentile_of_many_rows_is_near_its_rank(spark: SparkSession) -> None:
    form = _form("approx_percentile", Literal(0.5))
    state = _merged(spark, {"l": (form, ["id", "0.5"])})
    assert state["l"].list.len().to_list() == [ROWS]
    assert abs(_value(spark, form, state, "l") / ROWS_IN_ALL - 0.5) < 0.02


def test_percentiles_by_sketch_are_within_their_error_whatever_the_distribution(spark: SparkSession) -> None:
    """Every one of them, not most: the bounds of a bucket are certain."""
    error = 0.01
    form = _form("percentile_sketch", Literal(0.5), Literal(error))
    columns = [f"{sql} AS {name}" for name, sql in DISTRIBUTIONS.items()]
    forms = {name: (form, [name, "0.5"]) for name in DISTRIBUTIONS}
    state = _merged(spark, forms, *columns)
    assert state.equals(_merged(spark, forms, *columns, backwards=True))
    shares = f"array({', '.join(map(str, SHARES))})"
    each = [f"transform({shares}, _q -> {_finish(form, name, name, '_q')}) AS {name}" for name in DISTRIBUTIONS]
    found = spark.createDataFrame(state.to_arrow()).selectExpr(*each).collect()[0]
    every = spark.range(0, ROWS_IN_ALL, numPartitions=2).selectExpr(*columns)
    exact = every.selectExpr(*(f"percentile({name}, {shares}) AS {name}" for name in DISTRIBUTIONS)).collect()[0]
    for name in DISTRIBUTIONS:
        for share, near, value in zip(SHARES, found[name], exact[name], strict=True):
            assert abs(near - value) <= error * abs(value) * (1 + 1e-9), (name, share, near, value)
        assert state[name].list.len().item() < 3_000


def test_hll_sketches_count_within_their_error_in_any_order(spark: SparkSession) -> None:
    """Three standard deviations, which are 1.04 / sqrt(2 ** size)."""
    sizes = {8: 16, 12: 64, 16: 256}
    forms = {f"h{size}": (_form("hll_sketch_agg", Literal(size)), ["id", str(size)]) for size in sizes}
    state = _merged(spark, forms)
    assert state.equals(_merged(spark, forms, backwards=True))
    each = [f"hll_sketch_estimate({_finish(form, name, *args)})" for name, (form, args) in forms.items()]
    found = spark.createDataFrame(state.to_arrow()).selectExpr(*each).collect()[0]
    for (size, root), estimate in zip(sizes.items(), found, strict=True):
        assert abs(estimate / ROWS_IN_ALL - 1) < 3 * 1.04 / root, (size, estimate)
        assert len(state[f"h{size}"].item()) == 40 + 2**size


def test_frequent_items_are_never_counted_too_high_nor_too_low_by_more_than_promised(spark: SparkSession) -> None:
    tracked = 200
    form = _form("approx_top_k", Literal(10), Literal(tracked))
    item = f"CAST(floor(pow({U}, -1 / 0.8D)) AS BIGINT) AS item"
    state = _merged(spark, {"l": (form, ["item"])}, item)
    assert 0 < state["l"].list.len().item() <= tracked
    found = spark.createDataFrame(state.to_arrow()).selectExpr(f"{_finish(form, 'l', 'item')} AS top").collect()[0][0]
    every = spark.range(0, ROWS_IN_ALL, numPartitions=2).selectExpr(item)
    exact = {row["item"]: row["count"] for row in every.groupBy("item").count().collect()}
    assert len(exact) > 2 * tracked
    assert [row["item"] for row in found] == sorted(exact, key=lambda each: (-exact[each], each))[:10]
    for row in found:
        assert exact[row["item"]] - ROWS_IN_ALL / (tracked + 1) <= row["count"] <= exact[row["item"]]
