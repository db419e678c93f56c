"""Rows as they are handed over, one JSON text each, so that they are decoded by the same code as any other source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.runtime import Connector, Output, Sink, SinkRequest, SourceRequest, SourceStream
from windrow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Row keys that say something about the row and are not columns of it.
RESERVED = ("_ts", "_timestamp", "_event_time", "_offset", "_partition", "_topic", "_key", "_headers", "_stream")

_MILLIS = pa.timestamp("ms", tz="UTC")
SCHEMA = pa.schema(
    [
        ("_raw", pa.string()),
        ("_ts", pa.int64()),
        ("_timestamp", _MILLIS),
        ("_event_time", _MILLIS),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("_topic", pa.string()),
        ("_key", pa.string()),
        ("_headers", pa.map_(pa.string(), pa.string())),
        ("_seq", pa.int64()),
    ]
)


def rows_to_table(rows: Iterable[Mapping[str, Any]], first_seq: int) -> pa.Table:
    """The rows of one batch, in arrival order, numbered from ``first_seq``."""
    return pa.Table.from_pylist([_record(row, first_seq + i) for i, row in enumerate(rows)], schema=SCHEMA)


def _record(row: Mapping[str, Any], seq: int) -> dict[str, Any]:
    own = {name: value for name, value in row.items() if name not in RESERVED}
    key, headers = row.get("_key"), row.get("_headers")
    return {
        "_raw": json.dumps(own, ensure_ascii=False),
        "_ts": row.get("_ts"),
        "_timestamp": row.get("_timestamp"),
        "_event_time": row.get("_event_time"),
        "_partition": row.get("_partition", 0),
        "_offset": row.get("_offset", seq),
        "_topic": row.get("_topic"),
        "_key": None if key is None else str(key),
        "_headers": None if headers is None else list(headers.items()),
        "_seq": seq,
    }


def table_stream(spark: SparkSession, table: pa.Table, partitions: int) -> SourceStream:
    """A batch as a source's frame; one partition, so that nothing needs an exchange."""
    frame = spark.createDataFrame(table).coalesce(1)
    return SourceStream(frame, partitions, "json")


# Folders that stand behind memory sources while a streaming query reads them: one Parquet file a micro-batch.
FOLDERS: dict[str, Path] = {}


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    folder = FOLDERS.get(request.name)
    if folder is None:
        raise UsageError(
            "WR550",
            f"the {'table' if request.is_table else 'stream'} {request.name} is a memory source, and nobody handed it any rows",
            "memory sources are for cases (windrow test); use the connector 'files' or 'generator' to run",
        )
    schema = spark.createDataFrame(SCHEMA.empty_table()).schema
    if request.is_table:
        return SourceStream(spark.read.schema(schema).parquet(str(folder)), 1, "json")
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return SourceStream(frame, int(request.options.get("partitions", "1")), "json")


class MemorySink(Sink):
    """Keeps every batch by its id, so that a batch that is written twice is there once."""

    def __init__(self) -> None:
        self._batches: dict[int, pa.Table] = {}

    def write(self, output: Output) -> None:
        table = output.table
        if table is None:
            assert output.frame is not None
            table = output.frame.toArrow()
            table = table.sort_by("_seq") if "_seq" in table.column_names else table
        self._batches[output.batch_id] = table

    def rows(self) -> list[dict[str, Any]]:
        return [row for batch_id in sorted(self._batches) for row in self._batches[batch_id].to_pylist(maps_as_pydicts="lossy")]


# By statement; a test or a notebook reads them back by name.
SINKS: dict[str, MemorySink] = {}


def open_sink(_spark: SparkSession, request: SinkRequest) -> MemorySink:
    return SINKS.setdefault(request.statement, MemorySink())


class MemoryConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)
