"""The rows of a batch as records: key, value, headers and time, a few thousand at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.encoding import in_micros, is_nested, json_lines, json_spelling, plain_spelling, quoted, spark_json, spark_times
from windrow.connectors.kafka.failures import NO_KEY
from windrow.connectors.runtime import EMISSION, RETRACT, Output, Refused
from windrow.connectors.streaming import output_batches
from windrow.errors import JobError
from windrow.model import row_protocol

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

KEY, HEADERS, EVENT_TIME = row_protocol.KEY, row_protocol.HEADERS, row_protocol.EVENT_TIME
ROWS_AT_ONCE = 2_000

Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True)
class Records:
    """Lists of one length. ``headers`` and ``times`` (milliseconds) are None where no record has any."""

    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers | None] | None = None
    times: list[int | None] | None = None

    def __len__(self) -> int:
        return len(self.values)


def leave_out(records: Records, limit: int) -> tuple[Records, list[Refused]]:
    """Without the records that are larger than a record may be, and these by themselves."""
    sizes = [len(key or b"") + len(value or b"") + _headers_size(records, n) for n, (key, value) in enumerate(_pairs(records))]
    if max(sizes, default=0) <= limit:
        return records, []
    kept = [n for n, size in enumerate(sizes) if size <= limit]
    rest = Records(
        [records.keys[n] for n in kept],
        [records.values[n] for n in kept],
        None if records.headers is None else [records.headers[n] for n in kept],
        None if records.times is None else [records.times[n] for n in kept],
    )
    large = [
        Refused(json.loads(records.values[n] or b"{}"), f"a record of {size:,} bytes, and the topic takes {limit:,} at most")
        for n, size in enumerate(sizes)
        if size > limit
    ]
    return rest, large


def _pairs(records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
    return zip(records.keys, records.values, strict=True)


def _headers_size(records: Records, number: int) -> int:
    headers = None if records.headers is None else records.headers[number]
    return sum(len(name.encode()) + len(value.encode() if isinstance(value, str) else value or b"") + 8 for name, value in headers or ())


def records_of(output: Output, *, with_times: bool) -> Iterator[Records]:
    """A retraction is a tombstone: the key without a value."""
    if output.table is not None:
        yield from _of_table(output.table, output.columns, with_times)
    elif output.frame is not None:
        for batch in output_batches(output, record_columns(output.frame, output.columns, with_times=with_times), ROWS_AT_ONCE):
            yield _checked(_of_batch(batch))


def record_columns(frame: DataFrame, columns: tuple[str, ...], *, with_times: bool) -> dict[str, Column]:
    """Rows as columns ``key``, ``value``, ``headers`` and ``time``, made on the executors."""
    from pyspark.sql import functions as F

    value = F.to_json(F.struct(*(quoted(name) for name in columns)), spark_json(frame)).cast("binary")
    if EMISSION in frame.columns:
        value = F.when(F.coalesce(F.col(EMISSION) == RETRACT, F.lit(False)), F.lit(None)).otherwise(value)
    parts = {"key": _key_column(frame), "value": value}
    if HEADERS in frame.columns:
        parts["headers"] = F.col(HEADERS)
    if with_times and EVENT_TIME in frame.columns:
        parts["time"] = F.unix_millis(EVENT_TIME)
    return parts


def _key_column(frame: DataFrame) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    if KEY not in frame.columns:
        return F.lit(None).cast("binary")
    match frame.schema[KEY].dataType:
        case T.BinaryType():
            return F.col(KEY)
        case T.ArrayType() | T.MapType() | T.StructType() | T.VariantType():
            return F.to_json(KEY, spark_json(frame)).cast("binary")
        case T.TimestampType():
            return F.date_format(KEY, spark_times(frame)["timestampFormat"]).cast("binary")
        case _:
            return F.col(KEY).cast("string").cast("binary")


def _of_batch(batch: pa.RecordBatch) -> Records:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return Records(
        columns["key"].to_pylist(), columns["value"].to_pylist(), _headers(columns.get("headers")), _present(columns.get("time"))
    )


def _of_table(table: pa.Table, columns: tuple[str, ...], with_times: bool) -> Iterator[Records]:
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        part = table.slice(start, ROWS_AT_ONCE)
        values: list[bytes | None] = [line.encode() for line in json_lines(part, columns)]
        if EMISSION in part.column_names:
            emissions = part[EMISSION].to_pylist()
            values = [None if kind == RETRACT else value for kind, value in zip(emissions, values, strict=True)]
        headers = _headers(part[HEADERS].combine_chunks()) if HEADERS in part.column_names else None
        yield _checked(Records(_keys(part), values, headers, _times(part) if with_times else None))


def _keys(table: pa.Table) -> list[bytes | None]:
    if KEY not in table.column_names:
        return [None] * table.num_rows
    column = in_micros(table.select([KEY]))[KEY]
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return list(column.to_pylist())
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_temporal(kind)
    spell = plain_spelling(kind) if is_text and not is_nested(kind) else json_spelling(kind)
    return [None if key is None else spell(key).encode() for key in column.to_pylist()]


def _times(table: pa.Table) -> list[int | None] | None:
    if EVENT_TIME not in table.column_names:
        return None
    return _present(table[EVENT_TIME].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()))


def _present(column: Any) -> list[int | None] | None:
    """Kafka has no times before 1970."""
    if column is None:
        return None
    return [at if at is not None and at >= 0 else None for at in column.to_pylist()]


def _headers(column: pa.Array | None) -> list[Headers | None] | None:
    if column is None or column.null_count == len(column):
        return None
    return list(column.to_pylist())


def _checked(records: Records) -> Records:
    """A tombstone is nothing without a key: nobody could tell what is gone."""
    if None in records.values and any(k is None and v is None for k, v in zip(records.keys, records.values, strict=True)):
        raise JobError(
            NO_KEY,
            "a group was retracted (HAVING rejects what it had let out), and its record has no key by which readers could drop it",
            "GROUP BY something that is never NULL, or mark a key: SELECT COALESCE(k, '') AS k PRIMARY KEY, ...",
        )
    return records
