"""What a Kafka source understands."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

from windrow.connectors.changes import TIME_UNIT
from windrow.connectors.spec import BATCH_TARGET, OptionKind, OptionSpec

_TEXT, _CHOICE, _DURATION = OptionKind.TEXT, OptionKind.CHOICE, OptionKind.DURATION
FORMATS = ("json", "avro", "protobuf", "debezium", "csv", "raw")
# Formats whose records are decoded by the engine, as JSON.
SPELLED_AS_JSON = ("json", "avro", "protobuf", "debezium")
# Of these, the ones that are made into it.
MADE_JSON = ("avro", "protobuf", "debezium")
KEY_FORMATS = ("text", "base64", "avro")
# No topic has so many partitions.
_MOST_PARTITIONS = 65_536

_OPTIONS = (
    OptionSpec(
        "topic", _TEXT, "topic to read; several with commas between them", is_required=True, alternative="topic.pattern", example="trades"
    ),
    OptionSpec("topic.pattern", _TEXT, "instead of topic: every topic that matches is read, also those made later", example="trades-.*"),
    OptionSpec("bootstrap.servers", _TEXT, "brokers to ask first", is_required=True, example="localhost:9092"),
    OptionSpec(
        "format", _CHOICE,
        "how the value of a record is written; debezium: as changes of rows; raw gives it to the only column, STRING or BINARY, as it is",
        default="json", choices=FORMATS, example="avro",
    ),
    OptionSpec("key.format", _CHOICE, "how the key of a record becomes `_key`", default="text", choices=KEY_FORMATS, example="base64"),
    OptionSpec("headers", OptionKind.BOOLEAN, "whether headers are read, and carried on to emissions", default="true", example="false"),
    OptionSpec(
        "trace.context", _CHOICE,
        "whether [traces](operations.md#traces) link to the context in the header `traceparent`, and records of outputs go on with it",
        default="auto", choices=("auto", "off"), example="off"),
    OptionSpec(
        "auto.offset.reset", _CHOICE, "where a new job begins", default="earliest", choices=("earliest", "latest"), example="latest"),
    OptionSpec(
        "starting.offsets", _TEXT,
        "where a new job begins, by partition; -2 is the first, -1 the next to come. Partitions that are left out follow auto.offset.reset",
        example='{"trades": {"0": 23, "1": -2}}'),
    OptionSpec("starting.timestamp", OptionKind.TIME, "a new job begins with the records since this time", example="2026-01-01T00:00:00Z"),
    OptionSpec(
        "max.offsets.per.trigger", OptionKind.INTEGER, "how many records one micro-batch takes at most", default="1000000", example="50000"
    ),
    BATCH_TARGET,
    OptionSpec("topic.wait.timeout", _DURATION, "how long a start waits for the broker and the topic", default="30s", example="5m"),
    OptionSpec("topic.retry.interval", _DURATION, "how often it looks meanwhile", default="1s", example="10s"),
    OptionSpec(
        "fail.on.data.loss", OptionKind.BOOLEAN,
        "stop when records are gone before they were read: by the topic's retention, or because it was deleted", default="true",
        example="false"),
    OptionSpec("group.id", _TEXT, "consumer group that shows how far the job has read; windrow-<job> if not given", example="dashboards"),
    OptionSpec("group.commit", OptionKind.BOOLEAN, "whether that is shown at all", default="true", example="false"),
    # The stream's own key, stated here so that it reaches the CSV reader, which decodes its rows itself.
    OptionSpec(
        "bad.fields", _CHOICE, "what happens to a row with one field that cannot be decoded",
        default="null", choices=("null", "dead_letter"), example="dead_letter",
    ),
    OptionSpec("csv.delimiter", _TEXT, "what stands between two values", default=",", example=";"),
    OptionSpec("csv.quote", _TEXT, "what stands around a value that holds the delimiter", default='"', example="|"),
    OptionSpec("csv.escape", _TEXT, "what stands before a quote inside a quoted value", default='"', example="\\"),
    OptionSpec("csv.null", _TEXT, "the text that means NULL", default="", example="\\N"),
    TIME_UNIT,
    OptionSpec("avro.schema.file", OptionKind.PATH, "schema (.avsc) of records that are written without a registry", example="trade.avsc"),
    OptionSpec(
        "protobuf.descriptor.file", OptionKind.PATH,
        "descriptor of messages that are written without a registry, as protoc --descriptor_set_out makes it",
        example="trade.desc",
    ),
    OptionSpec("protobuf.message", _TEXT, "which message of that descriptor, with its package", example="shop.Trade"),
    OptionSpec("schema.registry.url", _TEXT, "registry of the schemas that records name (Confluent's format)", example="http://localhost:8081"),
    OptionSpec(
        "schema.registry.basic.auth.user.info", _TEXT, "user and password of the registry; never printed",
        example="user:password", is_secret=True),
    OptionSpec(
        "kafka.*", _TEXT, "any setting of the Kafka client, such as kafka.security.protocol or kafka.sasl.jaas.config; never printed",
        example="SASL_SSL", example_key="kafka.security.protocol", is_secret=True),
)  # fmt: skip

# A job goes on with other values of these. Where it begins is asked once.
_MAY_CHANGE = (
    *("bootstrap.servers", "kafka.*", "schema.registry.url", "schema.registry.basic.auth.user.info"),
    *("auto.offset.reset", "starting.offsets", "starting.timestamp", "max.offsets.per.trigger", BATCH_TARGET.key, "fail.on.data.loss"),
    *("topic.wait.timeout", "topic.retry.interval", "group.id", "group.commit", "trace.context"),
)
SOURCE_OPTIONS: tuple[OptionSpec, ...] = tuple(replace(option, may_change=option.key in _MAY_CHANGE) for option in _OPTIONS)


def partition_sql(options: Mapping[str, str]) -> str:
    """SQL that tells partitions apart: by their number, and where there may be several topics, by the topic as well.

    >>> partition_sql({"topic": "a"})
    '_partition'
    """
    has_several = "topic.pattern" in options or "," in options.get("topic", "")
    return f"(crc32(CAST(_topic AS BINARY)) * {_MOST_PARTITIONS} + _partition)" if has_several else "_partition"


def partition_number(options: Mapping[str, str], topic: str, partition: int) -> int:
    """What ``partition_sql`` gives for a row of this partition.

    >>> partition_number({"topic": "a"}, "a", 3), partition_number({"topic": "a,b"}, "a", 3)
    (3, 255875868721155)
    """
    return partition if partition_sql(options) == "_partition" else zlib.crc32(topic.encode()) * _MOST_PARTITIONS + partition
