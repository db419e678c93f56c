"""Rows as the text that COPY reads: CSV, in which an unquoted nothing is NULL and a quoted one is an empty text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from windrow.connectors.encoding import Spell, in_micros, is_nested, json_spelling, plain_spelling, quoted, spark_json
from windrow.connectors.marked_rows import marked_batches
from windrow.connectors.postgres.types import ColumnType
from windrow.connectors.runtime import Output
from windrow.connectors.zones import labelled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_WRITE = pa_csv.WriteOptions(include_header=False)


def row_batches(output: Output, targets: dict[str, ColumnType], *, is_keyed: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a batch as ``marked_batches`` gives them, nested values as JSON text."""
    return marked_batches(output, lambda frame: _cells(frame, output.columns, targets), is_keyed=is_keyed)


def csv_of(batch: pa.RecordBatch, targets: dict[str, ColumnType]) -> bytes:
    """The rows of a batch as lines. ``targets`` are the columns of the table that values go to, by the name they have here.

    >>> csv_of(pa.record_batch({"a": [1, None], "b": ["x", ""]}), {})
    b'1,"x"\\n,""\\n'
    """
    # A column without a zone takes what stands before the offset: it is UTC whatever the zone of the job.
    table = labelled(in_micros(pa.Table.from_batches([batch])))
    columns = [_as_text(table[name], targets.get(name)) for name in table.column_names]
    buffer = io.BytesIO()
    pa_csv.write_csv(pa.table(columns, names=table.column_names), buffer, _WRITE)
    return buffer.getvalue()


def _cells(frame: DataFrame, columns: tuple[str, ...], targets: dict[str, ColumnType]) -> list[Column]:
    """Nested values as JSON text, but lists for a column of lists."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    spelling = spark_json(frame)

    def cell(name: str) -> Column:
        type_ = frame.schema[name].dataType
        if isinstance(type_, T.ArrayType) and name in targets and targets[name].is_array:
            return quoted(name)
        if isinstance(type_, T.ArrayType | T.MapType | T.StructType | T.VariantType):
            return F.to_json(quoted(name), spelling).alias(name)
        return quoted(name)

    return [cell(name) for name in columns]


def _as_text(column: pa.ChunkedArray, target: ColumnType | None) -> pa.ChunkedArray:
    """A column as Arrow's CSV writer can write it: what it does not know is spelled here."""
    spell = _spelling(column.type, target)
    if spell is None:
        return column
    return pa.chunked_array(
        [[None if value is None else spell(value) for value in chunk.to_pylist()] for chunk in column.chunks], pa.string()
    )


def _spelling(type_: pa.DataType, target: ColumnType | None) -> Spell | None:
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_)
    if is_list and target is not None and target.is_array:
        return _list_spelling(type_.value_type)
    if is_nested(type_) or (target is not None and target.is_json and not _is_text(type_)):
        return json_spelling(type_)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return _spell_binary
    return None


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_dictionary(type_))


def _spell_binary(value: bytes) -> str:
    return "\\x" + value.hex()


def _list_spelling(element: pa.DataType) -> Callable[[Any], str]:
    """An array as PostgreSQL writes it, every value in quotes: {"a","b",NULL}."""
    spell = _spell_binary if pa.types.is_binary(element) or pa.types.is_large_binary(element) else _plain(element)

    def cell(value: Any) -> str:
        if value is None:
            return "NULL"
        return '"' + spell(value).replace("\\", "\\\\").replace('"', '\\"') + '"'

    return lambda values: "{" + ",".join(map(cell, values)) + "}"


def _plain(type_: pa.DataType) -> Spell:
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_) or pa.types.is_boolean(type_):
        return lambda value: str(value).lower()
    return plain_spelling(type_)
