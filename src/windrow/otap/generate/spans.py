"""Traces of a web shop: spans, their events and their links."""

from __future__ import annotations

import polars as pl

from windrow.otap.chance import below, happens, mixed, one_of
from windrow.otap.generate.origins import BATCH, Frames, attribute_rows, numbered_where, origin_attributes, origin_columns, sent_rows
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.tables import INT, STR

_NAMES = ["GET /cart", "POST /checkout", "SELECT orders", "render", "authorize"]


def make_spans(made: Telemetry, partition: int) -> Frames:
    """A span is sent when it ends: its row's time is its end."""
    count = made.rows_per_second * (made.length // SECOND) // 2
    rows = sent_rows(made, partition, 1, count, 2 * SECOND // made.rows_per_second)
    salt = made.salt(partition, 60)
    n = pl.col("n")
    # One in 200 takes longer than any receiver waits.
    length = pl.when(happens(n, salt, 0.005)).then(1800 * SECOND).otherwise(below(n, salt + 1, 2 * SECOND))
    rows = rows.with_columns(
        length=length, events=below(n, salt + 2, 3), is_linked=happens(n, salt + 3, 0.1), has_attributes=~happens(n, salt + 4, 0.1)
    )
    rows = numbered_where(rows, pl.col("has_attributes") | (pl.col("events") > 0) | pl.col("is_linked"))
    owners = rows.filter("has_attributes").with_columns(owner="id")
    attributes = attribute_rows(
        owners,
        ("span.number", INT, n),
        ("db.system", STR, pl.when(happens(n, salt + 5, 0.4)).then(pl.lit("postgresql"))),
        ("http.status_code", INT, 200 + below(n, salt + 6, 2) * 300),
    )
    events, event_attributes = _events(rows, salt)
    links, link_attributes = _links(rows, salt)
    return {
        "spans": rows.select(BATCH, "id", *_columns(salt)),
        "span_attrs": attributes,
        "span_events": events,
        "span_event_attrs": event_attributes,
        "span_links": links,
        "span_link_attrs": link_attributes,
        **origin_attributes(rows),
    }


def _columns(salt: int) -> list[pl.Expr]:
    n, none = pl.col("n"), pl.lit(0)
    is_error = happens(n, salt + 7, 0.05)
    code = pl.when(is_error).then(2).otherwise(0)
    message = pl.when(is_error).then(pl.lit("timed out"))
    return [
        *(expr.alias(name) for name, expr in origin_columns().items()),
        (pl.col("time") - pl.col("length")).alias("start_time_unix_nano"),
        pl.col("length").alias("duration_time_unix_nano"),
        pl.concat_arr(mixed(n // 4, salt + 8), mixed(n // 4, salt + 9)).alias("trace_id"),
        mixed(n, salt + 10).alias("span_id"),
        pl.lit(None, pl.String).alias("trace_state"),
        pl.when(n % 4 > 0).then(mixed(n - 1, salt + 10)).alias("parent_span_id"),
        one_of(n, salt + 11, _NAMES).alias("name"),
        (1 + below(n, salt + 12, 5)).alias("kind"),
        none.alias("dropped_attributes_count"),
        none.alias("dropped_events_count"),
        none.alias("dropped_links_count"),
        pl.struct(code=code, status_message=message).alias("status"),
    ]


def _events(rows: pl.DataFrame, salt: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    n = pl.col("n")
    rows = rows.filter(pl.col("events") > 0).with_columns(place=pl.int_ranges(0, "events")).explode("place")
    rows = rows.with_columns(parent="id", at=pl.col("time") - pl.col("length") + pl.col("length") * pl.col("place") // 3)
    rows = numbered_where(rows.drop("id"), happens(n * 3 + pl.col("place"), salt + 20, 0.7))
    owners = rows.filter(pl.col("id").is_not_null()).with_columns(owner="id")
    attributes = attribute_rows(owners, ("event.place", INT, pl.col("place").cast(pl.Int64)))
    name = one_of(n + pl.col("place"), salt + 21, ["exception", "retry", "cache miss"])
    events = rows.select(BATCH, "id", parent_id="parent", time_unix_nano="at", name=name, dropped_attributes_count=pl.lit(0))
    return events, attributes


def _links(rows: pl.DataFrame, salt: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    n = pl.col("n")
    rows = rows.filter("is_linked").with_columns(parent="id")
    rows = numbered_where(rows.drop("id"), happens(n, salt + 30, 0.5))
    owners = rows.filter(pl.col("id").is_not_null()).with_columns(owner="id")
    links = rows.select(
        BATCH,
        "id",
        parent_id="parent",
        trace_id=pl.concat_arr(mixed(n, salt + 31), mixed(n, salt + 32)),
        span_id=mixed(n, salt + 33),
        trace_state=pl.lit(None, pl.String),
        dropped_attributes_count=pl.lit(0),
    )
    return links, attribute_rows(owners, ("link.kind", STR, pl.lit("follows")))
