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
    tables = [table.select(COLUMNS) for table in rows if table.num_rows]
    if not tables:
        return _maps(own, pl.DataFrame(schema={"_row": own.schema["_row"], "key": pl.String, "value": pl.String}))
    read = pl.DataFrame(pl.from_arrow(pa.concat_tables(tables, promote_options="permissive")))
    wanted = own.lazy().select("parent_id").drop_nulls().unique()
    found = read.lazy().with_columns(pl.col("parent_id").cast(pl.UInt32)).join(wanted, on="parent_id", how="semi", maintain_order="left")
    values = found.select("parent_id", pl.col("key").cast(pl.String), value=value_text()).collect()
    owned_key = pl.col("parent_id").cast(pl.UInt64) * 2**32 + pl.col("key").cast(pl.Categorical).to_physical()
    if values.select(owned_key.n_unique()).item() < values.height:
        values = values.unique(["parent_id", "key"], keep="last", maintain_order=True)
    return _maps(own, own.join(values, on="parent_id", maintain_order="left_right"))


def _maps(own: pl.DataFrame, pairs: pl.DataFrame) -> pa.Array:
    """Of keys and values in the order of the rows that they belong to."""
    offsets = pairs["_row"].cast(pl.Int64).search_sorted(pl.int_range(own.height + 1, eager=True)).cast(pl.Int32)
    keys, values = (pairs[name].rechunk().to_arrow().cast(pa.string()) for name in ("key", "value"))
    return pa.MapArray.from_arrays(offsets.to_arrow(), keys, values)
