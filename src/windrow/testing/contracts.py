"""Tests that every connector and every aggregate must pass, for whoever writes one: subclass, fill in, run pytest.

They need a fixture ``spark``, a SparkSession. For example::

    class TestSqliteSink(SinkContract):
        connector = "sqlite"

        def options(self, folder):
            return {"path": f"{folder}/out.db", "table": "out"}

        def written(self, folder):
            return rows_of(f"{folder}/out.db")
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
import pyarrow as pa

from windrow.aggregates import find_aggregate
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import BAD, PROVENANCE, RAW, SEQ, Connector, Output, Sink, SinkRequest, SourceRequest, SourceStream
from windrow.connectors.spec import OptionSpec
from windrow.jobs.connector_loader import connector_of
from windrow.model.expr import Call
from windrow.model.types import BIGINT, STRING, ColumnDef

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ConnectorContract(ABC):
    """What holds for both sides. ``connector`` is the name that stands after ``'connector' =``."""

    connector: ClassVar[str]

    @abstractmethod
    def options(self, folder: Path) -> Mapping[str, str]:
        """Options that work, without ``connector``. ``folder`` is empty at the start of each test."""

    def loaded(self) -> Connector:
        return connector_of(self.connector)

    def specs(self) -> tuple[OptionSpec, ...]:
        spec = CONNECTORS[self.connector]
        return (*(spec.source or ()), *(spec.sink or ()))

    def test_the_spec_says_what_it_is_called(self) -> None:
        assert CONNECTORS[self.connector].name == self.connector

    def test_every_option_is_documented(self) -> None:
        assert [option.key for option in self.specs() if not option.doc or not option.example] == []

    def test_defaults_and_examples_are_among_the_choices(self) -> None:
        chosen = [(option, value) for option in self.specs() if option.choices for value in (option.default, option.example)]
        assert [(option.key, value) for option, value in chosen if value is not None and value not in option.choices] == []


class SinkContract(ConnectorContract):
    """A sink takes each batch once, however often it is given."""

    columns: ClassVar[tuple[ColumnDef, ...]] = (ColumnDef("k", STRING), ColumnDef("v", BIGINT))

    @abstractmethod
    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        """What a reader of the outside system sees, with the columns ``k`` and ``v``."""

    def open(self, spark: SparkSession, folder: Path, job: str = "job-1") -> Sink:
        given = dict(self.options(folder))
        defaults = {option.key: option.default for option in CONNECTORS[self.connector].sink or () if option.default is not None}
        sink = self.loaded().open_sink(spark, SinkRequest("out", {**defaults, **given}, job, self.columns, ("k",)))
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


class TableSourceContract(ConnectorContract):
    """A source that CREATE TABLE loads: all rows that are there, in the shape that the engine reads."""

    columns: ClassVar[tuple[ColumnDef, ...]] = (ColumnDef("k", STRING), ColumnDef("v", BIGINT))

    @abstractmethod
    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows with the columns ``k`` and ``v`` where the source reads them."""

    def load(self, spark: SparkSession, folder: Path) -> SourceStream:
        defaults = {option.key: option.default for option in CONNECTORS[self.connector].source or () if option.default is not None}
        request = SourceRequest("t", self.columns, {**defaults, **self.options(folder)}, is_bounded=True, is_table=True)
        return self.loaded().open_source(spark, request)

    def test_the_spec_says_that_it_can_be_loaded(self) -> None:
        assert CONNECTORS[self.connector].is_loadable

    def test_all_rows_are_there(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}, {"k": "b", "v": None}])
        stream = self.load(spark, tmp_path)
        if stream.format is not None:
            assert RAW in stream.frame.columns
            assert stream.frame.count() == 2
            return
        rows = sorted((row["k"], row["v"]) for row in stream.frame.select("k", "v").collect())
        assert rows == [("a", 1), ("b", None)]

    def test_the_frame_has_what_the_engine_asks_for(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}])
        stream = self.load(spark, tmp_path)
        there = {*stream.frame.columns, *stream.lazy_columns, *stream.task_local_columns}
        needed = {*PROVENANCE, SEQ, RAW} if stream.format is not None else {*PROVENANCE, SEQ, BAD, "k", "v"}
        assert needed - there - {"_timestamp", BAD} == set()

    def test_what_came_since_is_there_when_it_is_loaded_again(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}])
        first = self.load(spark, tmp_path).frame.count()
        self.fill(tmp_path, [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
        assert (first, self.load(spark, tmp_path).frame.count()) == (1, 2)


class AggregateContract(ABC):
    """An aggregate gives the same whatever order its rows come in and however they are cut into partials.

    ``examples`` are lists of values with what the aggregate makes of them.
    """

    name: ClassVar[str]
    type: ClassVar[str] = "DOUBLE"
    examples: ClassVar[Sequence[tuple[Sequence[Any], Any]]]
    tolerance: ClassVar[float] = 1e-9

    def test_examples_however_they_are_cut(self, spark: SparkSession) -> None:
        for values, expected in self.examples:
            for seed in range(4):
                assert_close(self._result(spark, values, seed), expected, self.tolerance)

    def _result(self, spark: SparkSession, values: Sequence[Any], seed: int) -> Any:
        form = find_aggregate(Call(self.name))
        assert form is not None, f"there is no aggregate {self.name}"
        chance = random.Random(seed)
        rows = [(chance.randrange(3), value) for value in chance.sample(list(values), len(values))]
        frame = (
            spark.createDataFrame(rows, f"piece INT, v {self.type}")
            if rows
            else spark.createDataFrame([(0, None)], f"piece INT, v {self.type}")
        )
        fillings = {"over": "", "seq": "0L", "batch": "0L", "time": "0L"}
        parts = [f"{part.sql.format('v', **fillings)} AS `{part.name}`" for part in form.parts]
        partials = pl.from_arrow(frame.groupBy("piece").agg(*map(_expr, parts)).drop("piece").toArrow())
        assert isinstance(partials, pl.DataFrame)
        names = {part.name: part.name for part in form.parts}
        merged = partials.sample(fraction=1.0, shuffle=True, seed=seed).select(part.merge(names).alias(part.name) for part in form.parts)
        finish = form.finish.format("v", **{name: f"`{name}`" for name in names})
        return spark.createDataFrame(merged.to_arrow()).selectExpr(f"{finish} AS r").collect()[0]["r"]


def _expr(text: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(text)


def assert_close(got: Any, expected: Any, tolerance: float) -> None:
    """Equal, or for numbers as near as that, relative to what is expected."""
    if isinstance(got, float) and isinstance(expected, int | float):
        assert abs(got - expected) <= tolerance * max(1.0, abs(expected)), f"{got} is not {expected}"
    else:
        assert got == expected, f"{got!r} is not {expected!r}"
