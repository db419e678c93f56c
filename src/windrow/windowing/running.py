"""Rows of a batch, each with its group's total over the batch up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from polars.datatypes import IntegerType

from windrow.model.accumulation import Accumulation


def run_up(rows: pl.DataFrame, pane: Sequence[str], runs: Mapping[str, Accumulation], number: str | None = None) -> pl.DataFrame:
    """Columns of single numbers become running totals within their pane. Rows come in their order.

    ``number`` is the name of a column to add: that of each row among those of its pane, which is what ones add up to.
    """
    totals = {name: _over(pane, _total(rows[name], run)) for name, run in runs.items()}
    if number is not None:
        totals[number] = _over(pane, pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    return rows.with_columns(**totals)


def put_together(one: pl.Series, other: pl.Series, run: Accumulation) -> pl.Expr:
    """The total of two totals, in columns of one type. NULL is none."""
    a, b = pl.col(one.name), pl.col(other.name)
    match run:
        case Accumulation.TOTAL:
            return pl.coalesce(a + b, a, b) if one.null_count() or other.null_count() else a + b
        case Accumulation.LEAST:
            return pl.min_horizontal(a, b)
        case Accumulation.GREATEST:
            greatest = pl.max_horizontal(a, b)
            return pl.when(a.is_nan() | b.is_nan()).then(float("nan")).otherwise(greatest) if _has_nan(one) or _has_nan(other) else greatest


def none_yet(type_: pl.DataType, run: Accumulation) -> pl.Expr:
    """What stands for no total: put together with a number it leaves that as it is, to the sign of a zero."""
    match run:
        case Accumulation.TOTAL:
            return pl.lit(-0.0 if type_.is_float() else 0, type_)
        case Accumulation.LEAST:
            return type_.max() if isinstance(type_, IntegerType) else pl.lit(float("nan"), type_)
        case Accumulation.GREATEST:
            return type_.min() if isinstance(type_, IntegerType) else pl.lit(float("-inf"), type_)


def _has_nan(values: pl.Series) -> bool:
    return values.dtype.is_float() and bool(values.is_nan().any())


def _over(pane: Sequence[str], total: pl.Expr) -> pl.Expr:
    return total.over(pane) if pane else total


def _total(values: pl.Series, run: Accumulation) -> pl.Expr:
    """As Spark adds up and compares: NULL is passed over, and NaN is greater than every number."""
    value = pl.col(values.name)
    has_nulls, is_float, has_nan = values.null_count() > 0, values.dtype.is_float(), _has_nan(values)
    begun = value.is_not_null().cum_sum() > 0
    match run:
        case Accumulation.TOTAL:
            total = value.fill_null(0).cum_sum() if has_nulls else value.cum_sum()
            # Spark starts from zero, which takes the sign of a negative one.
            total = total + 0.0 if is_float else total
            return pl.when(begun).then(total) if has_nulls else total
        case Accumulation.LEAST:
            least = (value.fill_nan(None) if has_nan else value).cum_min()
            least = least.forward_fill() if has_nulls or has_nan else least
            return pl.coalesce(least, pl.when(begun).then(float("nan"))) if has_nan else least
        case Accumulation.GREATEST:
            greatest = value.cum_max().forward_fill() if has_nulls or has_nan else value.cum_max()
            return pl.when(value.is_nan().fill_null(False).cum_sum() > 0).then(float("nan")).otherwise(greatest) if has_nan else greatest
