"""Metrics of a web shop: every kind of data point, with exemplars where the kind has them."""

from __future__ import annotations

import polars as pl

from windrow.otap.chance import below, happens, mixed
from windrow.otap.generate.origins import BATCH, Frames, attribute_rows, origin_attributes, origin_columns, sent_rows
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.tables import INT, STR

_NAMES = ["process.cpu.load", "http.server.requests", "http.server.duration", "db.query.duration", "queue.wait"]
_UNITS = ["1", "{request}", "ms", "ms", "ms"]
# Data points of a metric by its type: gauge and sum have numbers.
_POINTS = {
    "number": ("number_data_points", (1, 2)),
    "histogram": ("histogram_data_points", (3,)),
    "exp_histogram": ("exp_histogram_data_points", (4,)),
    "summary": ("summary_data_points", (5,)),
}


def make_metrics(made: Telemetry, partition: int) -> Frames:
    count = made.rows_per_second * (made.length // SECOND) // 2
    rows = sent_rows(made, partition, 2, count, 2 * SECOND // made.rows_per_second)
    rows = rows.with_columns(id=pl.col("n").rank("dense").over(BATCH).cast(pl.Int64) - 1, metric_type=pl.col("n") % 5 + 1)
    salt = made.salt(partition, 200)
    metrics = rows.select(
        BATCH,
        "id",
        *(expr.alias(name) for name, expr in origin_columns().items()),
        "metric_type",
        name=(pl.col("metric_type") - 1).replace_strict(range(5), _NAMES, return_dtype=pl.String),
        description=pl.lit("made up"),
        unit=(pl.col("metric_type") - 1).replace_strict(range(5), _UNITS, return_dtype=pl.String),
        aggregation_temporality=pl.when(pl.col("metric_type").is_between(2, 4)).then(2).otherwise(0),
        dropped_attributes_count=pl.lit(0),
    )
    owners = rows.filter(pl.col("n") % 7 == 0).with_columns(owner="id")
    frames = {
        "univariate_metrics": metrics,
        "metric_attrs": attribute_rows(owners, ("metric.owner", STR, pl.lit("shop"))),
        **origin_attributes(rows),
    }
    for prefix, (table, types) in _POINTS.items():
        points = _points(rows.filter(pl.col("metric_type").is_in(types)), salt)
        own = points.with_columns(owner="id")
        frames[table] = points.select(BATCH, *_common(), *_VALUES[prefix](salt), flags=pl.lit(0))
        frames[f"{prefix}_dp_attrs"] = attribute_rows(own, ("point.number", INT, pl.col("p")), ("host.name", STR, pl.col("host_name")))
        if prefix != "summary":
            exemplars = _exemplars(points, salt)
            frames[f"{prefix}_dp_exemplars"] = exemplars.select(pl.exclude("p"))
            frames[f"{prefix}_dp_exemplar_attrs"] = attribute_rows(exemplars.with_columns(owner="id"), ("exemplar.of", INT, pl.col("p")))
    return frames


def _points(rows: pl.DataFrame, salt: int) -> pl.DataFrame:
    """One to three points for each metric; ``p`` numbers them."""
    rows = rows.with_columns(place=pl.int_ranges(0, 1 + below(pl.col("n"), salt, 3))).explode("place").rename({"id": "parent_id"})
    rows = rows.with_columns(p=pl.col("n") * 3 + pl.col("place"))
    return rows.with_columns(id=pl.col("p").rank("dense").over(BATCH).cast(pl.Int64) - 1)


def _common() -> list[pl.Expr]:
    return [
        pl.col("id"),
        pl.col("parent_id"),
        (pl.col("time") - 60 * SECOND).alias("start_time_unix_nano"),
        (pl.col("time") + pl.col("place")).alias("time_unix_nano"),
    ]


def _numbers(salt: int) -> list[pl.Expr]:
    is_whole, value = pl.col("metric_type") == 2, below(pl.col("p"), salt + 1, 10_000)
    return [pl.when(is_whole).then(value).alias("int_value"), pl.when(~is_whole).then(value / 10_000).alias("double_value")]


def _histograms(salt: int) -> list[pl.Expr]:
    counts = [below(pl.col("p"), salt + 2 + bucket, 20) for bucket in range(4)]
    return [
        pl.sum_horizontal(counts).alias("count"),
        (pl.sum_horizontal(counts) * 7.5).alias("sum"),
        pl.concat_list(counts).alias("bucket_counts"),
        pl.lit([10.0, 50.0, 100.0]).alias("explicit_bounds"),
        pl.lit(0.5).alias("min"),
        pl.lit(250.0).alias("max"),
    ]


def _exp_histograms(salt: int) -> list[pl.Expr]:
    counts = [below(pl.col("p"), salt + 10 + bucket, 20) for bucket in range(3)]
    empty = pl.lit(None, pl.List(pl.Int64))
    return [
        (pl.sum_horizontal(counts) + 1).alias("count"),
        (pl.sum_horizontal(counts) * 3.25).alias("sum"),
        pl.lit(2).alias("scale"),
        pl.lit(1).alias("zero_count"),
        pl.struct(offset=pl.lit(-1), bucket_counts=pl.concat_list(counts)).alias("positive"),
        pl.struct(offset=pl.lit(0), bucket_counts=empty).alias("negative"),
        pl.lit(0.0).alias("min"),
        pl.lit(8.0).alias("max"),
    ]


def _summaries(salt: int) -> list[pl.Expr]:
    value = below(pl.col("p"), salt + 20, 900) / 8
    quantiles = [pl.struct(quantile=pl.lit(q), value=value * q) for q in (0.5, 0.99)]
    return [pl.lit(100).alias("count"), (value * 100).alias("sum"), pl.concat_list(quantiles).alias("quantile")]


_VALUES = {"number": _numbers, "histogram": _histograms, "exp_histogram": _exp_histograms, "summary": _summaries}


def _exemplars(points: pl.DataFrame, salt: int) -> pl.DataFrame:
    p = pl.col("p")
    rows = points.filter(happens(p, salt + 30, 0.3)).rename({"id": "point"})
    return rows.select(
        BATCH,
        "p",
        id=p.rank("dense").over(BATCH).cast(pl.Int64) - 1,
        parent_id="point",
        time_unix_nano=pl.col("time") - 1,
        int_value=pl.when(p % 2 == 0).then(p),
        double_value=pl.when(p % 2 == 1).then(p / 4),
        span_id=mixed(p, salt + 31),
        trace_id=pl.concat_arr(mixed(p, salt + 32), mixed(p, salt + 33)),
    )
