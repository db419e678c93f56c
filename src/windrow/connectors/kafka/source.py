"""Topics as a frame: one row a record, with where it came from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from windrow.connectors.changes import DEBEZIUM
from windrow.connectors.debezium import EnvelopeSettings, envelope_as_json
from windrow.connectors.kafka.avro import avro_as_json, check_schema
from windrow.connectors.kafka.brokers import Brokers
from windrow.connectors.kafka.formats import csv_columns, raw_columns
from windrow.connectors.kafka.group import GroupMirror
from windrow.connectors.kafka.protobuf import check_messages, protobuf_as_json
from windrow.connectors.kafka.security import BAD_OPTION, for_java
from windrow.connectors.kafka.source_options import SPELLED_AS_JSON, partition_number
from windrow.connectors.kafka.source_settings import EARLIEST, LATEST, SourceSettings
from windrow.connectors.kafka.table import Span, latest_records, span_of, taken_back
from windrow.connectors.runtime import ORIGINAL, RAW, SEQ, SourceRequest, SourceStream
from windrow.errors import UsageError
from windrow.jars import KAFKA_CONNECTOR, jar_files, locked_jars

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NO_CONNECTOR = "WR868"
# Of a record as it was written: what is made of these is made when it is needed.
_KEY_BYTES, _HEADER_LIST = "_key_bytes", "_header_list"
_KEYS = {"text": "make_valid_utf8(CAST({0} AS STRING))", "base64": "base64({0})"}
# The input order as one whole number: rows of a partition by offset, and those of different partitions in turn.
_PLACE = "shiftleft(_offset, 20) + pmod(crc32(CAST(_topic AS BINARY)) * 1024 + _partition, 1048576)"
# Spark refuses a map with the same key twice; of headers with one name, the last counts.
_NAMES = f"array_distinct({_HEADER_LIST}.key)"
_LAST = f"make_valid_utf8(CAST(element_at(filter({_HEADER_LIST}, h -> h.key = name), -1).value AS STRING))"
_HEADERS = f"CASE WHEN size({_HEADER_LIST}) > 0 THEN map_from_arrays({_NAMES}, transform({_NAMES}, name -> {_LAST})) END"
_NO_HEADERS = "CAST(NULL AS MAP<STRING, STRING>)"


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    settings = SourceSettings.of(request)
    if settings.avro is not None:
        check_schema(settings.avro, settings.topics.names)
    if settings.protobuf is not None:
        check_messages(settings.protobuf, settings.topics.names)
    brokers = Brokers(settings.servers, settings.client, settings.wait)
    # Whoever loads a table waits for it in turn.
    topics = brokers.wait_for(settings.topics, 0 if request.is_table else settings.wait, settings.interval)
    if request.is_table:
        return _open_table(spark, request, settings, span_of(brokers.bounds(topics), request.since))
    records = _load(spark, request, {**_options(settings), **_start_options(settings, topics)})
    partitions = tuple(partition_number(request.options, topic, partition) for topic, count in topics.items() for partition in range(count))
    mirror = GroupMirror(settings.servers, settings.client, settings.group, request.options)
    return replace(_stream(request, settings, records), partitions=partitions, reading=mirror)


def _open_table(spark: SparkSession, request: SourceRequest, settings: SourceSettings, span: Span) -> SourceStream:
    records = _load(spark, request, {**_options(settings), **span.options})
    if settings.format == DEBEZIUM:
        # Rows themselves say what is gone.
        stream = replace(_stream(request, settings, records), is_unchanged=span.is_increment and span.is_empty)
        return replace(stream, offset=span.offset, is_increment=span.is_increment)
    stream = _stream(request, settings, latest_records(records))
    if not span.is_increment:
        return replace(stream, offset=span.offset)
    gone = None if span.is_empty else taken_back(records, _key_column(settings))
    return replace(stream, offset=span.offset, is_increment=True, is_unchanged=span.is_empty, gone=gone)


def _stream(request: SourceRequest, settings: SourceSettings, records: DataFrame) -> SourceStream:
    if settings.format == DEBEZIUM:
        # Tombstones are for the broker, which compacts by them: the change before said that the row is gone.
        records = records.where("value IS NOT NULL")
    decode = _decoder(request, settings)
    frame, decoding = _decoded(request, settings, records.select(*_columns(settings)), decode)
    later = {**_provenance(settings), **decoding}
    return SourceStream(frame, 1, "json" if settings.format in SPELLED_AS_JSON else None, later, decode=decode)


def _load(spark: SparkSession, request: SourceRequest, options: dict[str, str]) -> DataFrame:
    """Spark's connector is no part of pyspark. A session that has none gets ours; one that has its own keeps it."""
    reader: Any = (spark.read if request.is_table else spark.readStream).format("kafka").options(**options)
    try:
        return _loaded(reader)
    except _NoConnectorError:
        _add_jars(spark)
    try:
        return _loaded(reader)
    except _NoConnectorError:
        raise UsageError(NO_CONNECTOR, "this Spark session has no Kafka connector, and takes none while it runs", _package_hint()) from None


class _NoConnectorError(Exception):
    """Spark knows no source of this name."""


def _loaded(reader: Any) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        frame: DataFrame = reader.load()
    except AnalysisException as error:
        if "Failed to find" in str(error) and "kafka" in str(error):
            raise _NoConnectorError from None
        raise
    return frame


def _add_jars(spark: SparkSession) -> None:
    try:
        files = jar_files(KAFKA_CONNECTOR)
    except UsageError as error:
        raise UsageError(NO_CONNECTOR, f"this Spark session has no Kafka connector, and {error.message}", _package_hint()) from None
    for file in files:
        quoted = str(file).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"ADD JAR '{quoted}'")


def _package_hint() -> str:
    wanted = next(jar for jar in locked_jars(KAFKA_CONNECTOR) if jar.name.startswith("spark-sql-kafka"))
    return f"start it with spark.jars.packages={wanted.coordinates}"


def _options(settings: SourceSettings) -> dict[str, str]:
    """The options of Spark's connector, but for where it begins."""
    which = {"subscribePattern": settings.topics.pattern} if settings.topics.pattern else {"subscribe": ",".join(settings.topics.names)}
    return {
        "kafka.bootstrap.servers": settings.servers,
        **{f"kafka.{key}": value for key, value in for_java(settings.client).items()},
        **which,
        "includeHeaders": str(settings.has_headers).lower(),
        "failOnDataLoss": str(settings.fails_on_loss).lower(),
    }


def _start_options(settings: SourceSettings, topics: dict[str, int]) -> dict[str, str]:
    most = {"maxOffsetsPerTrigger": str(settings.per_batch)}
    if settings.start_millis is not None:
        # Where no record is that young, the next one to come is the first.
        return {**most, "startingTimestamp": str(settings.start_millis), "startingOffsetsByTimestampStrategy": "latest"}
    return {**most, "startingOffsets": _starting_offsets(settings, topics)}


def _starting_offsets(settings: SourceSettings, topics: dict[str, int]) -> str:
    if settings.offsets is None:
        return settings.reset
    unknown = [f"{topic}/{number}" for topic, each in settings.offsets.items() for number in each if int(number) >= topics.get(topic, 0)]
    if unknown:
        there = ", ".join(f"{topic}/0 to {count - 1}" for topic, count in topics.items())
        raise UsageError(BAD_OPTION, f"'starting.offsets' names {unknown[0]}, which is not read: there are {there}", "leave it out")
    default = EARLIEST if settings.reset == "earliest" else LATEST
    every = {
        topic: {str(number): settings.offsets.get(topic, {}).get(str(number), default) for number in range(count)}
        for topic, count in topics.items()
    }
    return json.dumps(every)


def _columns(settings: SourceSettings) -> list[Column]:
    """What a record has, each once: whatever is handed over is copied for every row."""
    from pyspark.sql import functions as F

    columns = [
        F.col("value").alias(ORIGINAL),
        F.col("timestamp").alias("_timestamp"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
    ]
    if _only_topic(settings) is None:
        columns.append(F.col("topic").alias("_topic"))
    is_avro = settings.key_format == "avro"
    columns.append(_key_column(settings).alias("_key") if is_avro else F.col("key").alias(_KEY_BYTES))
    return [*columns, *([F.col("headers").alias(_HEADER_LIST)] if settings.has_headers else ())]


def _key_column(settings: SourceSettings) -> Column:
    """``_key`` of a record."""
    from pyspark.sql import functions as F

    if settings.key_format == "avro":
        return avro_as_json(F.col("key"), _avro(settings))
    return F.expr(_KEYS[settings.key_format].format("key"))


def _provenance(settings: SourceSettings) -> dict[str, str]:
    """SQL for where a record came from, as far as ``_columns`` does not say it."""
    topic = _only_topic(settings)
    return {
        **({} if topic is None else {"_topic": f"'{topic}'"}),
        **({"_key": _KEYS[settings.key_format].format(_KEY_BYTES)} if settings.key_format in _KEYS else {}),
        "_headers": _HEADERS if settings.has_headers else _NO_HEADERS,
        SEQ: _PLACE,
    }


def _only_topic(settings: SourceSettings) -> str | None:
    names = settings.topics.names
    return names[0] if len(names) == 1 else None


def _decoder(request: SourceRequest, settings: SourceSettings) -> Callable[[Column], Column] | None:
    """What makes JSON of a value that is none."""
    match settings.format:
        case "avro":
            return partial(avro_as_json, settings=_avro(settings))
        case "protobuf":
            assert settings.protobuf is not None, "read with the settings of a source that has Protobuf"
            return partial(protobuf_as_json, settings=settings.protobuf)
        case "debezium":
            return partial(envelope_as_json, settings=EnvelopeSettings.of(request.columns, request.options))
        case _:
            return None


def _decoded(
    request: SourceRequest, settings: SourceSettings, frame: DataFrame, decode: Callable[[Column], Column] | None
) -> tuple[DataFrame, dict[str, str]]:
    """The declared columns, or the text that is still to be decoded: in the frame, or as SQL for later."""
    from pyspark.sql import functions as F

    match settings.format:
        case "raw":
            return frame, raw_columns(request.columns[0])
        case "csv":
            return csv_columns(frame, request.columns, request.options), {}
        case _ if decode is not None:
            return frame.select("*", decode(F.col(ORIGINAL)).alias(RAW)), {}
        case _:
            # Text is handed on as it lies in memory, bytes are copied each time. It may be no UTF-8: it is the same bytes still.
            return frame.select(F.col(ORIGINAL).cast("string").alias(RAW), *(name for name in frame.columns if name != ORIGINAL)), {}


def _avro(settings: SourceSettings) -> Any:
    assert settings.avro is not None, "read with the settings of a source that has Avro"
    return settings.avro
