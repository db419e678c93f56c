"""What every sink does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Output, Sink, SinkRequest
from windrow.testing.contracts.connectors import ConnectorContract, defaults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SinkContract(ConnectorContract):
    """A sink takes each batch once, however often it is given."""

    @abstractmethod
    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        """What a reader of the outside system sees, with the columns ``k`` and ``v``."""

    def open(self, spark: SparkSession, folder: Path, job: str = "job-1") -> Sink:
        options = {**defaults(CONNECTORS[self.connector].sink), **self.options(folder)}
        # What is outside may outlive a test, and no two jobs have one id.
        request = SinkRequest("out", options, f"{job} of {folder.name}", self.columns, ("k",))
        sink = self.loaded().open_sink(spark, request)
        sink.open()
        return sink

    def table(self, *rows: tuple[str | None, int | None]) -> pa.Table:
        return pa.table({"k": pa.array([k for k, _ in rows], pa.string()), "v": pa.array([v for _, v in rows], pa.int64())})

    def seen(self, folder: Path) -> list[tuple[Any, Any]]:
        return sorted(((row["k"], row["v"]) for row in self.written(folder)), key=str)

    def test_rows_arrive(self, spark: SparkSession, tmp_path: Path) -> None:
        sink = self.open(spark, tmp_path)
        sink.write(Output(0, ("k", "v"), self.table(("a", 1), ("b", None))))
        sink.close()
        assert self.seen(tmp_path) == [("a", 1), ("b", None)]

    def test_a_batch_that_is_written_twice_is_there_once(self, spark: SparkSession, tmp_path: Path) -> None:
        sink = self.open(spark, tmp_path)
        for _ in range(2):
            sink.write(Output(0, ("k", "v"), self.table(("a", 1))))
        sink.write(Output(1, ("k", "v"), self.table(("b", 2))))
        sink.close()
        assert self.seen(tmp_path) == [("a", 1), ("b", 2)]

    def test_a_batch_that_runs_again_after_a_restart_is_there_once(self, spark: SparkSession, tmp_path: Path) -> None:
        for _ in range(2):
            sink = self.open(spark, tmp_path)
            sink.write(Output(0, ("k", "v"), self.table(("a", 1))))
            sink.close()
        assert self.seen(tmp_path) == [("a", 1)]

    def test_rows_on_the_executors_arrive_like_those_in_the_driver(self, spark: SparkSession, tmp_path: Path) -> None:
        sink = self.open(spark, tmp_path)
        for _ in range(2):
            sink.write(Output(0, ("k", "v"), frame=spark.createDataFrame(self.table(("a", 1), ("b", 2))).repartition(2)))
        sink.close()
        assert self.seen(tmp_path) == [("a", 1), ("b", 2)]

    def test_a_batch_without_rows_is_fine(self, spark: SparkSession, tmp_path: Path) -> None:
        sink = self.open(spark, tmp_path)
        sink.write(Output(0, ("k", "v"), self.table()))
        sink.write(Output(1, ("k", "v"), self.table(("a", 1))))
        sink.close()
        assert self.seen(tmp_path) == [("a", 1)]


class SharedSinkContract(SinkContract):
    """A sink whose target several jobs may write to, such as a table: it tells their batches apart."""

    def test_the_same_batch_number_of_another_job_is_another_batch(self, spark: SparkSession, tmp_path: Path) -> None:
        for job, key in (("job-1", "a"), ("job-2", "b")):
            sink = self.open(spark, tmp_path, job)
            sink.write(Output(0, ("k", "v"), self.table((key, 1))))
            sink.close()
        assert self.seen(tmp_path) == [("a", 1), ("b", 1)]
