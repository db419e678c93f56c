"""What the connectors of lake tables do, over whichever store keeps the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from windrow.connectors.lake.settings import LakeSettings
from windrow.connectors.lake.sink import LakeSink, forget_after, misfit
from windrow.connectors.lake.source import open_table
from windrow.connectors.lake.store import LakeStore
from windrow.connectors.runtime import Connector, Sink, SinkRequest, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OpenStore(Protocol):
    def __call__(self, options: Mapping[str, str], partitions: Sequence[str] = (), /) -> LakeStore: ...


class LakeConnector(Connector):
    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_table(spark, request, self._store(request.options))

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:  # noqa: ARG002 - the library needs no Spark
        settings = LakeSettings.of(request)
        return LakeSink(request, self._store(request.options, settings.partitions), settings)

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        forget_after(self._store(request.options), request, batch_id)

    def misfit(self, request: SinkRequest) -> str | None:
        return misfit(self._store(request.options), request)
