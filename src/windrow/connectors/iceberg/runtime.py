"""What the Iceberg connector does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.iceberg.store import IcebergStore
from windrow.connectors.lake.settings import LakeSettings
from windrow.connectors.lake.sink import LakeSink, forget_after, misfit
from windrow.connectors.lake.source import open_table
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class IcebergConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_table(spark, request, IcebergStore(request.options))

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:  # noqa: ARG002 - the library needs no Spark
        settings = LakeSettings.of(request)
        return LakeSink(request, IcebergStore(request.options, settings.partitions), settings)

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        forget_after(IcebergStore(request.options), request, batch_id)

    def misfit(self, request: SinkRequest) -> str | None:
        return misfit(IcebergStore(request.options), request)
