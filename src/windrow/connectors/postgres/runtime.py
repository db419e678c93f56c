"""What the PostgreSQL connector does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.postgres.restoring import forget_after, what_stays
from windrow.connectors.postgres.sink import misfit, open_sink
from windrow.connectors.postgres.source import open_source
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PostgresConnector", "forget_after", "open_sink", "open_source", "what_stays"]


class PostgresConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)

    def misfit(self, request: SinkRequest) -> str | None:
        return misfit(request)

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        forget_after(request, batch_id)

    def what_stays(self, request: SinkRequest) -> str | None:
        return what_stays(request)
