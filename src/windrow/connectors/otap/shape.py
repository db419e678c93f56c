"""Rows of a window in the types that SQL has."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model.row_protocol import SEQ, TOPIC
from windrow.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Array, DataType, Map, Struct
from windrow.otap.attributes import MAPS
from windrow.otap.columns import PART_ID, TIME
from windrow.otap.covers import Cover
from windrow.otap.nested import sql_values
from windrow.otap.windows import EVENT_TIME, FILE, PLACED, ROW, numbers

OFFSET = "_offset"
_TIMES = pa.timestamp("us", tz="UTC")
_ATOMS: dict[DataType, pa.DataType] = {
    BIGINT: pa.int64(),
    INT: pa.int32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    BOOLEAN: pa.bool_(),
    TIMESTAMP: _TIMES,
}
# One share of a batch has fewer rows than this, so numbers of rows in it leave room for the number of the share.
_ROWS = 2**40


def arrow_type(type_: DataType) -> pa.DataType:
    """
    >>> arrow_type(Array(Struct((("a", INT),))))
    ListType(list<element: struct<a: int32>>)
    """
    match type_:
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Map():
            return MAPS
        case Struct(fields):
            return pa.struct([(name, arrow_type(own)) for name, own in fields])
        case _:
            return _ATOMS[type_]


def to_batches(rows: pa.Table, cover: Cover, place: int, columns: pa.Schema) -> list[pa.RecordBatch]:
    """Ordered by time, with the asked columns and where each row came from; ``place`` is that of the cover in its batch."""
    rows = rows.take(pc.sort_indices(rows, [(PLACED, "ascending"), (FILE, "ascending"), (ROW, "ascending")]))
    arrays = [_column(rows, field.name, field.type, cover) for field in columns]
    arrays += [numbers(rows.num_rows, place * _ROWS), rows[ROW], rows[FILE]]
    names = [*columns.names, SEQ, OFFSET, TOPIC]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(arrays, names=names).combine_chunks().to_batches(max_chunksize=65_536)
    return batches


def _column(rows: pa.Table, name: str, type_: pa.DataType, cover: Cover) -> pa.ChunkedArray | pa.Array:
    if name == TIME:
        # Whole microseconds, rounded down: a row stays in its window.
        return pc.divide(rows[EVENT_TIME], 1000).cast(pa.timestamp("us")).cast(_TIMES)
    if name == PART_ID:
        return pa.repeat(cover.part_id, rows.num_rows)
    if name not in rows.column_names:
        return pa.nulls(rows.num_rows, type_)
    return sql_values(rows[name], type_)
