"""What the Kafka connector does, and what going back means for a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.kafka.sink import ExactSink, open_sink
from windrow.connectors.kafka.sink_settings import SinkSettings
from windrow.connectors.kafka.source import open_source
from windrow.connectors.kafka.source_failures import explain_failure
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.errors import WindrowError

__all__ = ["KafkaConnector", "explain_failure", "forget_after", "open_sink", "open_source", "what_stays"]


def forget_after(request: SinkRequest, batch_id: int) -> None:
    """Records cannot be taken back. The batches after this one are to be written again, so they must not count as written."""
    settings = SinkSettings.of(request.options)
    if settings.is_exact:
        ExactSink(settings, request).rewind(batch_id)


def what_stays(request: SinkRequest) -> str:
    topic = SinkSettings.of(request.options).topic
    return f"records of topic {topic} cannot be taken back: what it holds of later batches stays, and they will be written once more"


class KafkaConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)

    def explain_failure(self, error: Exception) -> WindrowError | None:
        return explain_failure(error)

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        forget_after(request, batch_id)

    def what_stays(self, request: SinkRequest) -> str | None:
        return what_stays(request)
