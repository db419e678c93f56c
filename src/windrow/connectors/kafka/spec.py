"""What the Kafka connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.changes import change_column
from windrow.connectors.kafka.sink_options import JSON, SINK_OPTIONS
from windrow.connectors.kafka.source_options import MADE_JSON, SOURCE_OPTIONS, SPELLED_AS_JSON, partition_sql
from windrow.connectors.spec import BatchCap, ConnectorSpec, Messages, Place, SourceShape


def _shape(options: Mapping[str, str]) -> SourceShape:
    format_ = options.get("format", "json").lower()
    return SourceShape("json" if format_ in SPELLED_AS_JSON else None, keeps_original=format_ in MADE_JSON)


def _counts_rows(options: Mapping[str, str]) -> bool:
    """Not where several rows are one record."""
    return all(options.get(key, JSON).lower() == JSON for key in ("value.format", "format"))


def _worker_modules(options: Mapping[str, str]) -> tuple[str, ...]:
    return ("pyarrow", "windrow") if options.get("format", "").lower() in MADE_JSON else ()


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    """A source may read several topics, or those that fit a pattern."""
    server = f"kafka://{_first_server(options)}"
    topics = [topic.strip() for topic in options.get("topic", "").split(",") if topic.strip()]
    return tuple(Place(server, topic) for topic in topics) or (Place(server, options.get("topic.pattern", ""), is_pattern=True),)


def _first_server(options: Mapping[str, str]) -> str:
    """
    >>> _first_server({"bootstrap.servers": "a:9092, b:9092"}), _first_server({"bootstrap.servers": "a"})
    ('a:9092', 'a:9092')
    """
    server = options.get("bootstrap.servers", "").split(",")[0].strip()
    return server if ":" in server else f"{server}:9092"


def _messages(options: Mapping[str, str]) -> Messages:
    return Messages("kafka", options.get("topic", ""))


KAFKA = ConnectorSpec(
    name="kafka",
    summary="topics of Apache Kafka",
    runtime="windrow.connectors.kafka.runtime:KafkaConnector",
    source=SOURCE_OPTIONS,
    batch_cap=BatchCap("max.offsets.per.trigger", 10_000, 1_000_000),
    sink=SINK_OPTIONS,
    source_partitions=None,
    is_loadable=True,
    partition_sql=partition_sql,
    source_shape=_shape,
    counts_rows=_counts_rows,
    has_headers=True,
    worker_modules=_worker_modules,
    places=_places,
    messages=_messages,
    jars="kafka-connector",
    change_column=change_column,
)
