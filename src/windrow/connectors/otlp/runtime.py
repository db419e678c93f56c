"""What the OTLP connector does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.otlp.sink import open_sink
from windrow.connectors.runtime import Connector, Sink, SinkRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OtlpConnector(Connector):
    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)
