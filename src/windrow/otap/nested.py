"""What belongs to a row as lists inside it: events and links of a span, exemplars of a data point."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from windrow.otap.attributes import MAPS
from windrow.otap.tables import TABLES

ATTRIBUTES = "attributes"
# For each table the columns with such a list, and the table that its items come from.
LISTS: dict[str, dict[str, str]] = {
    "spans": {"events": "span_events", "links": "span_links"},
    "number_data_points": {"exemplars": "number_dp_exemplars"},
    "histogram_data_points": {"exemplars": "histogram_dp_exemplars"},
    "exp_histogram_data_points": {"exemplars": "exp_histogram_dp_exemplars"},
}


def item_type(table: str) -> pa.DataType:
    """The rows of a table as items: without the ids that only say where they belong, with their attributes.

    >>> [item_type("span_links").field(place).name for place in range(5)]
    ['trace_id', 'span_id', 'trace_state', 'dropped_attributes_count', 'attributes']
    """
    own = [field for field in TABLES[table].schema if field.name not in ("id", "parent_id")]
    return pa.struct([*(pa.field(field.name, _sql_type(field.type)) for field in own), pa.field(ATTRIBUTES, MAPS)])


def lists_for(owners: pa.ChunkedArray, rows: pa.Table | None, table: str) -> pa.Array:
    """For each owner the list of its rows, in their order, empty where it has none."""
    type_ = item_type(table)
    own = pl.DataFrame({"parent_id": pl.Series(pl.from_arrow(owners)).cast(pl.UInt32)}).with_row_index("_row")
    if rows is None:
        pairs = pl.DataFrame(schema={"_row": pl.UInt32, "_place": pl.UInt32})
        items = pa.array([], type_)
    else:
        parents = pl.Series(pl.from_arrow(rows["parent_id"])).cast(pl.UInt32)
        pairs = own.join(pl.DataFrame({"parent_id": parents}).with_row_index("_place"), on="parent_id", maintain_order="left_right")
        columns = [_whole(sql_values(rows[field.name], field.type)) for field in type_]
        items = pa.StructArray.from_arrays(columns, fields=list(type_)).take(pairs["_place"].to_arrow())
    counts = own.join(pairs.group_by("_row").len(), on="_row", how="left", maintain_order="left")["len"].fill_null(0)
    offsets = pl.concat([pl.Series([0], dtype=pl.Int32), counts.cum_sum().cast(pl.Int32)], rechunk=True)
    return pa.ListArray.from_arrays(offsets.to_arrow(), items, type=pa.list_(pa.field("element", type_)))


def sql_values(column: pa.ChunkedArray | pa.Array, type_: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """A column as SQL has it: ids as hexadecimal text, times and lengths as numbers."""
    if column.type == type_:
        return column
    if pa.types.is_string(type_) and (pa.types.is_fixed_size_binary(column.type) or pa.types.is_binary(column.type)):
        return pl.Series(pl.from_arrow(column)).bin.encode("hex").to_arrow().cast(pa.string())
    return column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column.cast(type_)


def _sql_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_fixed_size_binary(type_):
        return pa.string()
    return pa.int64() if pa.types.is_temporal(type_) or pa.types.is_integer(type_) else type_


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
