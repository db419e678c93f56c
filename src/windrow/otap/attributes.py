"""Attribute tables as maps: the attributes of a row by key, every value as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import polars as pl
import pyarrow as pa

from windrow.otap import cbor
from windrow.otap.tables import BOOL, BYTES, DOUBLE, INT, MAP, SLICE, STR

COLUMNS = ["parent_id", "key", "type", "str", "int", "double", "bool", "bytes", "ser"]
MAPS = pa.map_(pa.string(), pa.string())


def value_text() -> pl.Expr:
    """The value of an attribute as text; the column that counts depends on its type, and the others must be ignored.

    Bytes are base64, maps and lists JSON; an empty value or a type that does not exist is NULL.
    """
    nested = pl.col("ser").map_elements(nested_text, return_dtype=pl.String)
    truth = pl.when(pl.col("bool")).then(pl.lit("true")).when(~pl.col("bool")).then(pl.lit("false"))
    return (
        pl.when(pl.col("type") == STR).then(pl.col("str"))
        .when(pl.col("type") == INT).then(pl.col("int").cast(pl.String))
        .when(pl.col("type") == DOUBLE).then(pl.col("double").cast(pl.String))
        .when(pl.col("type") == BOOL).then(truth)
        .when(pl.col("type") == BYTES).then(pl.col("bytes").bin.encode("base64"))
        .when(pl.col("type").is_in([MAP, SLICE])).then(nested)
    )  # fmt: skip


def nested_text(data: bytes) -> str | None:
    """
    >>> nested_text(cbor.dump({"a": [1, b"x"]}))
    '{"a":[1,"eA=="]}'
    """
    try:
        return json.dumps(cbor.load(data), default=_as_text, ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return None


def _as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def maps_for(owners: pa.ChunkedArray | pa.Array, rows: Iterable[pa.Table]) -> pa.Array:
    """For each owner the map of its attributes, empty where it has none. Rows of other owners are left out.

    Should a key come twice, the later one counts: a batch may have been sent again.
    """
    own = pl.DataFrame({"parent_id": pl.Series(pl.from_arrow(owners)).cast(pl.UInt32)}).with_row_index("_row")
    wanted = own.select("parent_id").drop_nulls().unique()
    parts = [pl.DataFrame(pl.from_arrow(table)).with_columns(pl.col("parent_id").cast(pl.UInt32)) for table in rows]
    parts = [part.join(wanted, on="parent_id", how="semi", maintain_order="left") for part in parts]
    if not any(part.height for part in parts):
        return _empty_maps(own.height)
    found = pl.concat([part.select("parent_id", pl.col("key").cast(pl.String), value=value_text()) for part in parts])
    found = found.unique(["parent_id", "key"], keep="last", maintain_order=True)
    grouped = found.group_by("parent_id", maintain_order=True).agg("key", "value")
    placed = own.join(grouped, on="parent_id", how="left", maintain_order="left")
    keys, values = (placed[name].fill_null(pl.lit([], dtype=pl.List(pl.String))).rechunk().to_arrow() for name in ("key", "value"))
    offsets = keys.offsets.cast(pa.int32())
    return pa.MapArray.from_arrays(offsets, keys.values.cast(pa.string()), values.values.cast(pa.string()))


def _empty_maps(count: int) -> pa.Array:
    nothing = pa.array([], pa.string())
    return pa.MapArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), nothing, nothing)
