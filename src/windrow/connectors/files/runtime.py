"""What the files connector does, and what users read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.files.failures import explain_failure
from windrow.connectors.files.manifest import Manifest, committed_files, forget_after, read_manifest
from windrow.connectors.files.sink import open_sink
from windrow.connectors.files.source import open_source
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.errors import WindrowError

__all__ = ["FilesConnector", "Manifest", "committed_files", "explain_failure", "forget_after", "open_sink", "open_source", "read_manifest"]


class FilesConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return open_sink(spark, request)

    def explain_failure(self, error: Exception) -> WindrowError | None:
        return explain_failure(error)

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        forget_after(request, batch_id)
