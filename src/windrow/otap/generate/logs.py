"""Logs of a web shop."""

from __future__ import annotations

import polars as pl

from windrow.otap.cbor import dump
from windrow.otap.chance import below, happens, mixed, one_of
from windrow.otap.generate.origins import BATCH, Frames, attribute_rows, numbered_where, origin_attributes, origin_columns, sent_rows
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.tables import BOOL, BYTES, DOUBLE, INT, SLICE, STR

_METHODS, _ROUTES = ["GET", "POST", "PUT"], ["/", "/cart", "/checkout", "/search", "/item"]
_TAGS = dump(["web", 1, True])


def make_logs(made: Telemetry, partition: int) -> Frames:
    count = made.rows_per_second * (made.length // SECOND)
    rows = sent_rows(made, partition, 0, count, SECOND // made.rows_per_second)
    salt = made.salt(partition, 20)
    n = pl.col("n")
    luck = below(n, salt, 100)
    severity = pl.when(luck < 80).then(9).when(luck < 92).then(13).when(luck < 99).then(17).otherwise(21)
    rows = rows.with_columns(
        severity_number=severity,
        method=one_of(n, salt + 1, _METHODS),
        route=one_of(n, salt + 2, _ROUTES),
        is_traced=happens(n, salt + 3, 0.6),
        has_time=~happens(n, salt + 4, made.without_time),
    )
    status = pl.when(pl.col("severity_number") >= 17).then(500 + below(n, salt + 5, 4)).otherwise(200 + below(n, salt + 5, 5))
    rows = rows.with_columns(status=status)
    # Some logs have no attribute, so they have no id either.
    rows = numbered_where(rows, ~happens(n, salt + 6, 0.05))
    owners = rows.filter(pl.col("id").is_not_null()).with_columns(owner="id")
    attributes = attribute_rows(
        owners,
        ("log.number", INT, n),
        ("http.method", STR, pl.col("method")),
        ("http.route", STR, pl.col("route")),
        ("http.status_code", INT, pl.col("status")),
        ("duration.ms", DOUBLE, pl.when(happens(n, salt + 7, 0.5)).then(below(n, salt + 8, 90_000) / 16)),
        ("cache.hit", BOOL, pl.when(happens(n, salt + 9, 0.3)).then(happens(n, salt + 10, 0.5))),
        ("tags", SLICE, pl.when(happens(n, salt + 11, 0.05)).then(pl.lit(_TAGS))),
        ("payload", BYTES, pl.when(happens(n, salt + 12, 0.02)).then(pl.lit(b"\x00\xff"))),
    )
    logs = rows.select(BATCH, "id", *_columns(salt, made.more_text))
    return {"logs": logs, "log_attrs": attributes, **origin_attributes(rows)}


def _columns(salt: int, more_text: int) -> list[pl.Expr]:
    n, text = pl.col("n"), pl.format("{} {} {} on {}", "method", "route", "status", "host_name")
    if more_text:
        # A number of 64 bits has about 19 digits.
        digits = pl.concat_str(mixed(n, salt + 1000 + place).cast(pl.String) for place in range(more_text // 15 + 1))
        text = pl.format("{} {}", text, digits.str.head(more_text))
    body = pl.struct(
        type=pl.lit(STR),
        str=text,
        int=pl.lit(None, pl.Int64),
        double=pl.lit(None, pl.Float64),
        bool=pl.lit(None, pl.Boolean),
        bytes=pl.lit(None, pl.Binary),
        ser=pl.lit(None, pl.Binary),
    )
    severity = pl.col("severity_number").replace_strict([9, 13, 17, 21], ["INFO", "WARN", "ERROR", "FATAL"], return_dtype=pl.String)
    return [
        *(expr.alias(name) for name, expr in origin_columns().items()),
        pl.when("has_time").then("time").otherwise(0).alias("time_unix_nano"),
        pl.col("arrival").alias("observed_time_unix_nano"),
        pl.when("is_traced").then(pl.concat_arr(mixed(n // 4, salt + 13), mixed(n // 4, salt + 14))).alias("trace_id"),
        pl.when("is_traced").then(mixed(n, salt + 15)).alias("span_id"),
        pl.col("severity_number"),
        severity.alias("severity_text"),
        body.alias("body"),
        pl.lit(0).alias("dropped_attributes_count"),
        pl.lit(None, pl.String).alias("event_name"),
        pl.col("is_traced").cast(pl.Int64).alias("flags"),
    ]
