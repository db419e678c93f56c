"""What the JDBC connector does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.jdbc.sink import JdbcSink
from windrow.connectors.jdbc.source import open_source
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JdbcConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return JdbcSink(spark, request)

    def what_stays(self, request: SinkRequest) -> str:
        return f"rows of {request.options.get('table')} stay as they are: those of later batches will be written once more"
