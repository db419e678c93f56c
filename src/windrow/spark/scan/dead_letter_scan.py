"""Rows that had been set aside, as the source would give them now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.runtime import ORIGINAL, RAW, SEQ, SourceStream
from windrow.model.fate import Fate
from windrow.model.types import ColumnDef
from windrow.plan.stages import Read
from windrow.spark.compile.expressions import struct_type
from windrow.spark.scan.row_reader import read_all, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HAS_RAW = "_has_raw"  # whether the row comes as it was read, and not as its columns
_RECORDS = pa.schema(
    [
        (RAW, pa.binary()),
        ("_timestamp", pa.timestamp("us", tz="UTC")),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("_topic", pa.string()),
        ("_key", pa.string()),
        ("_headers", pa.map_(pa.string(), pa.string())),
        (SEQ, pa.int64()),
        (_HAS_RAW, pa.bool_()),
    ]
)


def replayed_rows(spark: SparkSession, read: Read, stream: SourceStream, letters: Sequence[Mapping[str, Any]], now: int) -> DataFrame:
    """A source that decodes its rows itself gave nothing that could be decoded here: the columns of its rows are taken as JSON."""
    from pyspark.sql import functions as F

    records = [_record(letter, is_raw=stream.format is not None) for letter in letters]
    frame = spark.createDataFrame(pa.Table.from_pylist(records, schema=_RECORDS)).coalesce(1)
    if stream.decode is not None:
        decoded = F.when(F.col(_HAS_RAW), stream.decode(F.col(RAW)).cast("binary")).otherwise(F.col(RAW))
        frame = frame.withColumn(ORIGINAL, F.col(RAW)).withColumn(RAW, decoded)
    return read_all(read, SourceStream(frame.drop(_HAS_RAW), None, "json"), now)


_OF_EMISSIONS = {"_window_start": "TIMESTAMP", "_window_end": "TIMESTAMP", "_emission": "STRING", "_revision": "INT"}
_BESIDE = ("_timestamp", "_partition", "_offset", "_topic", "_key", "_headers")
_RETURNED = pa.schema([("row", pa.string()), ("_event_time", pa.timestamp("us", tz="UTC")), *(_RECORDS.field(name) for name in _BESIDE)])


def returned_rows(spark: SparkSession, columns: Sequence[ColumnDef], letters: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows that a statement gave and its constraints set aside, as it had given them."""
    records = [
        {"row": letter["row"], "_event_time": letter["event_time"], **{name: _beside(letter, name) for name in _BESIDE}}
        for letter in letters
    ]
    frame = spark.createDataFrame(pa.Table.from_pylist(records, schema=_RETURNED)).coalesce(1)
    held = [json.loads(letter["row"]) for letter in letters]
    emitted = {name: kind for name, kind in _OF_EMISSIONS.items() if any(name in row for row in held)}
    schema = struct_type({**{column.name: spark_type(column) for column in columns}, **emitted}).replace("'", "\\'")
    return frame.selectExpr(f"from_json(row, '{schema}') AS _held", "*").selectExpr("_held.*", "* EXCEPT (_held, row)")


def _beside(letter: Mapping[str, Any], name: str) -> Any:
    return letter["arrived_at" if name == "_timestamp" else name.removeprefix("_")]


def _record(letter: Mapping[str, Any], *, is_raw: bool) -> dict[str, Any]:
    raw = letter["raw"] if is_raw else None
    # A row that was ahead of its arrival is judged by when it arrives now; every other row arrived when it did.
    arrived = None if letter["code"] == Fate.FUTURE.code else letter["arrived_at"]
    return {
        RAW: (letter["row"] or "").encode() if raw is None else raw,
        _HAS_RAW: raw is not None,
        "_timestamp": arrived,
        "_partition": letter["partition"],
        "_offset": letter["offset"],
        "_topic": letter["topic"],
        "_key": letter["key"],
        "_headers": letter["headers"],
        SEQ: letter["offset"] or 0,
    }
