"""Rows that had been set aside, as the source would give them now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.runtime import ORIGINAL, RAW, SEQ, SourceStream
from windrow.model.fate import Fate
from windrow.plan.stages import Read
from windrow.spark.scan.row_reader import read_all

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
