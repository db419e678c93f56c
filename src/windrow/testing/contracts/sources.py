"""What every source does: as reference data that is loaded whole, and as a stream that is read on and on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import BAD, PROVENANCE, RAW, SEQ, SourceRequest, SourceStream
from windrow.testing.contracts.connectors import ConnectorContract, defaults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A query that takes longer has failed.
_SECONDS = 120
_PARTITION_ID = "_partition_id"
Row = dict[str, Any]


class SourceContract(ConnectorContract):
    """What both kinds of reading have in common."""

    def opened(self, spark: SparkSession, folder: Path, *, is_table: bool) -> SourceStream:
        options = {**defaults(CONNECTORS[self.connector].source), **self.options(folder)}
        request = SourceRequest("t", self.columns, options, is_bounded=True, is_table=is_table)
        return self.loaded().open_source(spark, request)

    def lacking(self, stream: SourceStream) -> set[str]:
        """Columns that the engine asks for and the frame does not have."""
        there = {*stream.frame.columns, *stream.lazy_columns, *stream.task_local_columns}
        needed = {*PROVENANCE, SEQ, RAW} if stream.format is not None else {*PROVENANCE, SEQ, BAD, "k", "v"}
        return needed - there - {"_timestamp", BAD}


class TableSourceContract(SourceContract):
    """A source that CREATE TABLE loads: all rows that are there, in the shape that the engine reads."""

    @abstractmethod
    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows with the columns ``k`` and ``v`` where the source reads them."""

    def test_the_spec_says_that_it_can_be_loaded(self) -> None:
        assert CONNECTORS[self.connector].is_loadable

    def test_all_rows_are_there(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}, {"k": "b", "v": None}])
        stream = self.opened(spark, tmp_path, is_table=True)
        if stream.format is not None:
            assert RAW in stream.frame.columns
            assert stream.frame.count() == 2
            return
        rows = sorted((row["k"], row["v"]) for row in stream.frame.select("k", "v").collect())
        assert rows == [("a", 1), ("b", None)]

    def test_the_frame_has_what_the_engine_asks_for(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}])
        stream = self.opened(spark, tmp_path, is_table=True)
        assert self.lacking(stream) == set()

    def test_what_came_since_is_there_when_it_is_loaded_again(self, spark: SparkSession, tmp_path: Path) -> None:
        self.fill(tmp_path, [{"k": "a", "v": 1}])
        first = self.opened(spark, tmp_path, is_table=True).frame.count()
        self.fill(tmp_path, [{"k": "a", "v": 1}, {"k": "b", "v": 2}])
        assert (first, self.opened(spark, tmp_path, is_table=True).frame.count()) == (1, 2)


class StreamSourceContract(SourceContract):
    """A source that CREATE STREAM reads: each row once and in order, whenever the job stops and starts again."""

    @abstractmethod
    def append(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Let rows with the columns ``k`` and ``v`` come in, after those that are there. Called several times in a test."""

    def decoded(self, stream: SourceStream, rows: DataFrame) -> DataFrame:
        """With the columns ``k`` and ``v``, for a source that hands over text of another format than JSON."""
        from pyspark.sql import functions as F

        if stream.format is None:
            return rows
        assert stream.format == "json", f"let decoded() read {stream.format}"
        schema = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return rows.withColumn("_decoded", F.from_json(F.col(RAW).cast("string"), schema)).select("*", "_decoded.*")

    def read(self, spark: SparkSession, folder: Path, checkpoint: Path, *, fails: bool = False) -> dict[int, list[Row]]:
        """What comes in until all is read, by batch. A run that ``fails`` does so in its first batch, after it has read that."""
        stream = self.opened(spark, folder, is_table=False)
        taken: dict[int, list[Row]] = {}

        def take(batch: DataFrame, batch_id: int) -> None:
            taken[batch_id] = self._rows(stream, batch, folder)
            if fails:
                raise RuntimeError("the job is killed here")

        query = stream.frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            ended = query.awaitTermination(_SECONDS)
        except Exception:  # of several kinds, by version of Spark
            if not fails:
                raise
        else:
            assert ended, f"the stream was not read to its end in {_SECONDS} s"
            assert not fails, "nothing was read, so nothing failed"
        finally:
            query.stop()
            if stream.reading is not None:
                stream.reading.close()
        return taken

    def _rows(self, stream: SourceStream, batch: DataFrame, folder: Path) -> list[Row]:
        from pyspark.sql import functions as F

        for name, sql in {**stream.task_local_columns, **stream.lazy_columns}.items():
            batch = batch.withColumn(name, F.expr(sql))
        partition = F.expr(CONNECTORS[self.connector].partition_sql(dict(self.options(folder)))).alias(_PARTITION_ID)
        rows = self.decoded(stream, batch).select("k", "v", SEQ, "_offset", partition)
        return [row.asDict() for row in rows.collect()]

    def test_the_spec_says_that_it_can_be_read_as_a_stream(self) -> None:
        spec = CONNECTORS[self.connector]
        assert spec.source is not None
        assert spec.is_streamable

    def test_the_stream_has_what_the_engine_asks_for(self, spark: SparkSession, tmp_path: Path) -> None:
        self.append(tmp_path, numbered(0, 1))
        assert self.lacking(self.opened(spark, tmp_path, is_table=False)) == set()

    def test_every_row_comes_once(self, spark: SparkSession, tmp_path: Path, tmp_path_factory: Any) -> None:
        self.append(tmp_path, [{"k": "a", "v": 1}, {"k": "b", "v": None}])
        self.append(tmp_path, [{"k": "a", "v": 1}])
        found = self.read(spark, tmp_path, tmp_path_factory.mktemp("checkpoint"))
        assert sorted(((row["k"], row["v"]) for row in together(found)), key=str) == [("a", 1), ("a", 1), ("b", None)]

    def test_rows_of_a_partition_are_in_the_order_they_came(self, spark: SparkSession, tmp_path: Path, tmp_path_factory: Any) -> None:
        for start in (0, 5):
            self.append(tmp_path, numbered(start, start + 5))
        for rows in by_partition(together(self.read(spark, tmp_path, tmp_path_factory.mktemp("checkpoint")))).values():
            # Two rows of one place in the order may come in any order, so they are taken the wrong way round.
            ordered = sorted(rows, key=lambda row: (row[SEQ], -row["v"]))
            assert [row["v"] for row in ordered] == sorted(row["v"] for row in rows)

    def test_partitions_are_those_that_are_told(self, spark: SparkSession, tmp_path: Path, tmp_path_factory: Any) -> None:
        self.append(tmp_path, numbered(0, 10))
        told = self.opened(spark, tmp_path, is_table=False).partitions
        found = set(by_partition(together(self.read(spark, tmp_path, tmp_path_factory.mktemp("checkpoint")))))
        known = set(range(told)) if isinstance(told, int) else told
        assert known is None or found <= set(known)

    def test_a_restart_goes_on_where_the_last_run_ended(self, spark: SparkSession, tmp_path: Path, tmp_path_factory: Any) -> None:
        checkpoint = tmp_path_factory.mktemp("checkpoint")
        self.append(tmp_path, numbered(0, 3))
        first = self.read(spark, tmp_path, checkpoint)
        self.append(tmp_path, numbered(3, 5))
        second = self.read(spark, tmp_path, checkpoint)
        third = self.read(spark, tmp_path, checkpoint)
        assert [values(each) for each in (first, second, third)] == [[0, 1, 2], [3, 4], []]
        assert min(second) > max(first)
        rows = by_partition([*together(first), *together(second)])
        assert all([row["v"] for row in sorted(own, key=lambda row: row[SEQ])] == sorted(row["v"] for row in own) for own in rows.values())

    def test_a_batch_that_runs_again_has_the_same_rows(self, spark: SparkSession, tmp_path: Path, tmp_path_factory: Any) -> None:
        checkpoint = tmp_path_factory.mktemp("checkpoint")
        self.append(tmp_path, numbered(0, 4))
        [(number, failed)] = self.read(spark, tmp_path, checkpoint, fails=True).items()
        # What came in meanwhile belongs to a later batch.
        self.append(tmp_path, numbered(4, 6))
        after = self.read(spark, tmp_path, checkpoint)
        places = (_PARTITION_ID, "_offset", "v")
        assert sorted(tuple(row[name] for name in places) for row in after[number]) == sorted(
            tuple(row[name] for name in places) for row in failed
        )
        assert values(after) == [0, 1, 2, 3, 4, 5]


def numbered(start: int, end: int) -> list[Row]:
    return [{"k": "ab"[number % 2], "v": number} for number in range(start, end)]


def together(batches: Mapping[int, list[Row]]) -> list[Row]:
    return [row for number in sorted(batches) for row in batches[number]]


def values(batches: Mapping[int, list[Row]]) -> list[int]:
    return sorted(row["v"] for row in together(batches))


def by_partition(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row[_PARTITION_ID], []).append(row)
    return found
