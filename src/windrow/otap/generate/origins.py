"""Where rows come from: the hosts and libraries of a batch, as resources and scopes with their attributes."""

from __future__ import annotations

import polars as pl

from windrow.otap.chance import below, mixed_number
from windrow.otap.generate.settings import Telemetry
from windrow.otap.tables import BOOL, BYTES, DOUBLE, INT, SLICE, STR

BATCH = "_batch"
Frames = dict[str, pl.DataFrame]

_SCHEMA_URL = "https://opentelemetry.io/schemas/1.27.0"
_IN_BATCH, _LIBRARIES = 3, 2
_SERVICES = ["checkout", "cart", "payment", "search", "frontend"]
_VALUE_COLUMNS = {"str": pl.String, "int": pl.Int64, "double": pl.Float64, "bool": pl.Boolean, "bytes": pl.Binary, "ser": pl.Binary}
_ACTIVE = {STR: "str", INT: "int", DOUBLE: "double", BOOL: "bool", BYTES: "bytes", SLICE: "ser"}


def sent_rows(made: Telemetry, partition: int, signal: int, count: int, step: int) -> pl.DataFrame:
    """Rows as they arrive: number, batch, arrival, event time, and host and library with their ids in the batch.

    A host's clock is off by the same amount all the time. Every batch has other hosts, so the resource with id 0 is another
    one each time.
    """
    n = pl.col("n")
    salt = made.salt(partition, signal * 100)
    frame = pl.select(n=pl.int_range(count, dtype=pl.Int64)).with_columns(arrival=made.start + n * step)
    sequence = (pl.col("arrival") - made.start) // made.batch_length
    frame = frame.with_columns((sequence * 3 + signal).alias(BATCH), host=(sequence * 7 + below(n, salt + 1, _IN_BATCH)) % made.hosts)
    frame = frame.with_columns(library=below(n, salt + 2, _LIBRARIES))
    drifts = [mixed_number(salt + 3 + host) % (2 * made.drift + 1) - made.drift for host in range(made.hosts)]
    drift = pl.col("host").replace_strict(list(range(made.hosts)), drifts, return_dtype=pl.Int64)
    late = below(n, salt + 50, made.latency + 1)
    return frame.with_columns(
        time=pl.col("arrival") - late + drift,
        host_name=pl.format("p" + str(partition) + "-host-{}", pl.col("host")),
        resource_id=pl.col("host").rank("dense").over(BATCH).cast(pl.Int64) - 1,
        scope_id=(pl.col("host") * _LIBRARIES + pl.col("library")).rank("dense").over(BATCH).cast(pl.Int64) - 1,
    )


def origin_columns() -> dict[str, pl.Expr]:
    """The columns that every root table starts with."""
    none = pl.lit(0, pl.Int64)
    return {
        "resource": pl.struct(id="resource_id", schema_url=pl.lit(_SCHEMA_URL), dropped_attributes_count=none),
        "scope": pl.struct(id="scope_id", name=pl.format("library-{}", "library"), version=pl.lit("1.4.0"), dropped_attributes_count=none),
        "schema_url": pl.lit(None, pl.String),
    }


def origin_attributes(rows: pl.DataFrame) -> Frames:
    """The attributes of the resources and scopes that rows name."""
    resources = rows.unique([BATCH, "resource_id"], maintain_order=True).rename({"resource_id": "owner"})
    service = pl.col("host").replace_strict(range(len(_SERVICES)), _SERVICES, default="other", return_dtype=pl.String)
    scopes = rows.unique([BATCH, "scope_id"], maintain_order=True).rename({"scope_id": "owner"})
    return {
        "resource_attrs": attribute_rows(
            resources,
            ("service.name", STR, service),
            ("host.name", STR, pl.col("host_name")),
            ("process.pid", INT, pl.col("host") + 4000),
        ),
        "scope_attrs": attribute_rows(scopes, ("library.language", STR, pl.lit("python"))),
    }


def attribute_rows(owners: pl.DataFrame, *attributes: tuple[str, int, pl.Expr]) -> pl.DataFrame:
    """An attribute table: for every row of ``owners`` (by its column ``owner``) those whose value is not null."""
    parts = []
    for place, (key, kind, value) in enumerate(attributes):
        part = owners.select(
            BATCH,
            pl.lit(place).alias("_place"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("_row"),
            parent_id="owner",
            key=pl.lit(key),
            type=pl.lit(kind, pl.Int64),
            **{name: value if name == _ACTIVE[kind] else pl.lit(None, dtype) for name, dtype in _VALUE_COLUMNS.items()},
        )
        parts.append(part.filter(pl.col(_ACTIVE[kind]).is_not_null()))
    return pl.concat(parts).sort("_row", "_place").drop("_row", "_place")


def numbered_where(frame: pl.DataFrame, is_numbered: pl.Expr) -> pl.DataFrame:
    """``id`` counts from 0 in each batch over the rows that need one; the others have none."""
    counted = frame.with_columns(_needs=is_numbered)
    counted = counted.with_columns(id=pl.when("_needs").then(pl.col("_needs").cast(pl.Int64).cum_sum().over(BATCH) - 1))
    return counted.drop("_needs")
