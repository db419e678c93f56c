"""Rows as the text that COPY reads: CSV, in which an unquoted nothing is NULL and a quoted one is an empty text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from windrow.connectors.encoding import Spell, in_micros, is_nested, json_spelling, plain_spelling, quoted, spark_json
from windrow.connectors.postgres.failures import RowsFailedError
from windrow.connectors.postgres.types import ColumnType
from windrow.connectors.runtime import EMISSION, RETRACT, SEQ, Output
from windrow.connectors.streaming import arrow_batches
from windrow.connectors.zones import labelled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Names of the two columns that a staging table has beside the target's.
PLACE, GONE = "_windrow_place", "_windrow_gone"
_ROWS_AT_ONCE = 20_000
_WRITE = pa_csv.WriteOptions(include_header=False)


def row_batches(output: Output, targets: dict[str, ColumnType], *, is_keyed: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, visible columns first. With a key, each also has its place in the order and whether it is a retraction."""
    if output.table is not None:
        batches: Iterable[pa.RecordBatch] = _marked(output.table, output.columns).to_batches(_ROWS_AT_ONCE)
    elif output.frame is not None:
        batches = _computed(_flat(output.frame, output.columns, targets, is_keyed))
    else:
        batches = ()
    first = 0
    for batch in batches:
        yield _with_place(batch, first) if is_keyed else _without_marks(batch)
        first += batch.num_rows


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


class RetractedError(Exception):
    """A row is to be taken back, and there is no key by which it could be found."""


def _marked(table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
    rows = table.select(list(columns))
    gone = pc.fill_null(pc.equal(table[EMISSION], RETRACT), False) if EMISSION in table.column_names else pa.repeat(False, table.num_rows)
    return rows.append_column(GONE, gone)


def _without_marks(batch: pa.RecordBatch) -> pa.RecordBatch:
    if pc.any(batch[GONE]).as_py():
        raise RetractedError
    return batch.drop_columns([GONE])


def _with_place(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
    """Rows are numbered as they come, where they do not say themselves in which order they belong."""
    if PLACE in batch.schema.names:
        return batch
    return batch.append_column(PLACE, pa.array(range(first, first + batch.num_rows), pa.int64()))


def _flat(frame: DataFrame, columns: tuple[str, ...], targets: dict[str, ColumnType], is_keyed: bool) -> DataFrame:
    """Nested values as JSON text, but lists for a column of lists; and the marks of ``row_batches``."""
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

    cells = [cell(name) for name in columns]
    gone = F.coalesce(F.col(EMISSION) == RETRACT, F.lit(False)) if EMISSION in frame.columns else F.lit(False)
    cells.append(gone.alias(GONE))
    if is_keyed and SEQ in frame.columns:
        if isinstance(frame.schema[SEQ].dataType, T.NumericType):
            cells.append(F.col(SEQ).cast("decimal(38,0)").alias(PLACE))
        else:
            frame = frame.sort(SEQ)
    return frame.select(*cells)


def _computed(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    try:
        yield from arrow_batches(frame, _ROWS_AT_ONCE)
    except GeneratorExit:
        raise
    except Exception as error:
        raise RowsFailedError from error


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
