"""What the rows of a batch add to the metrics that annotations define.

Rows in the driver are counted there, without a Spark job where a metric has no condition; rows on the executors are grouped by them, from a
copy that the output then reads too, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.model.notes import Metric, MetricType
from windrow.observe.row_metrics import Labels, Totals, Values, label_text
from windrow.spark.compile.expressions import quote, to_sql
from windrow.spark.query.flow import Flow
from windrow.spark.row_columns import FATE, PLACE
from windrow.windowing.columns import SEQ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_VALUE, _ROW, _LAST = "_value", "_metric_row", "_last_value"
# Which rows a metric with a sample rate looks at follows from the rows, so that a batch that runs again looks at the same.
_SHARES = 1_000_000
_NO_HASH = ("map<", "variant", "interval")


class RowMetrics:
    """``metrics`` are those of a job, by the stage whose rows they are about."""

    def __init__(self, spark: SparkSession, metrics: Sequence[tuple[str, Metric]]) -> None:
        self._spark = spark
        self._by_stage: dict[str, list[Metric]] = {}
        for stage, metric in metrics:
            self._by_stage.setdefault(stage, []).append(metric)

    def after(self, totals: Totals, flows: Mapping[str, Flow], cached: list[DataFrame]) -> Totals:
        """The totals with a batch. ``cached`` gets the frames to let go of once the batch is done."""
        found = dict(totals)
        for stage, metrics in self._by_stage.items():
            if (flow := flows.get(stage)) is not None:
                for metric, added in self._added(metrics, flow, cached):
                    found[metric.name] = found[metric.name].plus(added)
        return found

    def _added(self, metrics: list[Metric], flow: Flow, cached: list[DataFrame]) -> list[tuple[Metric, dict[Labels, Values]]]:
        if flow.table is None:
            frame = flow.as_frame(self._spark).persist()
            cached.append(frame)
            flow.frame = frame
            return [(metric, _grouped_by_executors(frame, metric)) for metric in metrics]
        wanted = self._wanted(flow.table, metrics)
        return [(metric, _grouped(flow.table, metric, wanted.get(number))) for number, metric in enumerate(metrics)]

    def _wanted(self, table: pa.Table, metrics: list[Metric]) -> dict[int, pa.ChunkedArray]:
        """For every metric with a condition, whether it is about each row."""
        conditional = [number for number, metric in enumerate(metrics) if metric.condition is not None or metric.sample_rate < 1]
        if not conditional or not table.num_rows:
            return {}
        numbered = table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))
        frame = self._spark.createDataFrame(numbered).coalesce(1)
        columns = [f"{_counts(metrics[number], frame, without=(_ROW,))} AS _c{number}" for number in conditional]
        told = frame.selectExpr(_ROW, *columns).toArrow().sort_by(_ROW)
        return {number: told[f"_c{number}"] for number in conditional}


def _counts(metric: Metric, frame: DataFrame, without: tuple[str, ...] = ()) -> str:
    """SQL that is true for rows that a metric is about."""
    parts = [] if metric.condition is None else [f"coalesce({to_sql(metric.condition)}, false)"]
    if metric.sample_rate < 1:
        kept = [quote(name) for name, kind in frame.dtypes if name not in without and not any(word in kind for word in _NO_HASH)]
        parts.append(f"pmod(xxhash64({', '.join(kept)}), {_SHARES}) < {round(metric.sample_rate * _SHARES)}")
    return " AND ".join(parts) or "true"


def _grouped(table: pa.Table, metric: Metric, wanted: pa.ChunkedArray | None) -> dict[Labels, Values]:
    rows = table if wanted is None else table.filter(wanted)
    if not rows.num_rows:
        return {}
    spelling = {name.lower(): name for name in rows.column_names}
    columns = [rows[spelling[label.lower()]] for label in metric.labels]
    names = [f"l{place}" for place in range(len(columns))]
    measured = pa.nulls(rows.num_rows, pa.float64()) if metric.field is None else rows[spelling[metric.field.lower()]].cast(pa.float64())
    given = pl.from_arrow(pa.table([*columns, measured], names=[*names, _VALUE]))
    assert isinstance(given, pl.DataFrame)
    if metric.field is not None:
        given = given.filter(pl.col(_VALUE).is_finite())
    if metric.type is MetricType.COUNTER and metric.field is not None:
        given = given.filter(pl.col(_VALUE) >= 0)
    if not given.height:
        return {}
    aggregates = [pl.len().cast(pl.Float64).alias("n"), pl.col(_VALUE).sum().alias("s"), pl.col(_VALUE).last().alias(_LAST)]
    aggregates += [(pl.col(_VALUE) <= bound).sum().cast(pl.Float64).alias(f"b{i}") for i, bound in enumerate(metric.bounds)]
    # Without labels there is one group of all rows.
    found = given.group_by(names, maintain_order=True).agg(aggregates) if names else given.select(aggregates)
    return _series(found.to_dicts(), metric)


def _grouped_by_executors(frame: DataFrame, metric: Metric) -> dict[Labels, Values]:
    from pyspark.sql.functions import expr

    condition = _counts(metric, frame)
    if FATE in frame.columns:
        condition = f"{FATE} = 0 AND {condition}"
    value = "CAST(NULL AS DOUBLE)" if metric.field is None else f"CAST({quote(metric.field)} AS DOUBLE)"
    place = SEQ if SEQ in frame.columns else "monotonically_increasing_id()"
    labels = [f"{quote(label)} AS l{number}" for number, label in enumerate(metric.labels)]
    rows = frame.where(condition).selectExpr(*labels, f"{value} AS {_VALUE}", f"{place} AS {PLACE}")
    if metric.field is not None:
        rows = rows.where(f"{_VALUE} IS NOT NULL AND NOT isnan({_VALUE}) AND abs({_VALUE}) < double('Infinity')")
    if metric.type is MetricType.COUNTER and metric.field is not None:
        rows = rows.where(f"{_VALUE} >= 0")
    aggregates = ["CAST(count(1) AS DOUBLE) AS n", f"sum({_VALUE}) AS s", f"max_by({_VALUE}, {PLACE}) AS {_LAST}"]
    aggregates += [f"CAST(count_if({_VALUE} <= {bound!r}D) AS DOUBLE) AS b{number}" for number, bound in enumerate(metric.bounds)]
    grouped = rows.groupBy(*(f"l{number}" for number in range(len(metric.labels))))
    found = grouped.agg(*map(expr, aggregates)).toArrow().to_pylist()
    return _series([row for row in found if row["n"]], metric)


def _series(rows: Sequence[Mapping[str, object]], metric: Metric) -> dict[Labels, Values]:
    found: dict[Labels, Values] = {}
    for row in rows:
        labels = tuple(label_text(row[f"l{number}"]) for number in range(len(metric.labels)))
        values = _values(row, metric)
        # Two values may be one label, where that is cut short.
        held = found.get(labels)
        is_sum = held is not None and metric.type is not MetricType.GAUGE
        found[labels] = tuple(a + b for a, b in zip(held or (), values, strict=True)) if is_sum else values
    return found


def _values(row: Mapping[str, object], metric: Metric) -> Values:
    number = {name: float(str(row[name])) for name in ("n", "s", _LAST) if row[name] is not None}
    match metric.type:
        case MetricType.COUNTER:
            return (number["n"] if metric.field is None else number["s"],)
        case MetricType.GAUGE:
            return (number[_LAST],)
        case _:
            return (number["s"], number["n"], *(float(str(row[f"b{i}"])) for i in range(len(metric.bounds))))
