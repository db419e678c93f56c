"""What the Kafka connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.kafka.sink_options import JSON, SINK_OPTIONS
from windrow.connectors.kafka.source_options import SOURCE_OPTIONS, SPELLED_AS_JSON, partition_sql
from windrow.connectors.spec import ConnectorSpec, SourceShape


def _shape(options: Mapping[str, str]) -> SourceShape:
    format_ = options.get("format", "json").lower()
    return SourceShape("json" if format_ in SPELLED_AS_JSON else None, keeps_original=format_ == "avro")


def _counts_rows(options: Mapping[str, str]) -> bool:
    """Not where several rows are one record."""
    return all(options.get(key, JSON).lower() == JSON for key in ("value.format", "format"))


def _worker_modules(options: Mapping[str, str]) -> tuple[str, ...]:
    return ("pyarrow", "windrow") if options.get("format", "").lower() == "avro" else ()


KAFKA = ConnectorSpec(
    name="kafka",
    summary="topics of Apache Kafka",
    runtime="windrow.connectors.kafka.runtime:KafkaConnector",
    source=SOURCE_OPTIONS,
    sink=SINK_OPTIONS,
    source_partitions=None,
    is_loadable=True,
    partition_sql=partition_sql,
    source_shape=_shape,
    counts_rows=_counts_rows,
    has_headers=True,
    worker_modules=_worker_modules,
)
