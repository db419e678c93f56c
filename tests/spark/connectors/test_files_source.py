"""The files source: what it reads, what it passes over, and what it refuses."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types
from pyspark.sql import DataFrame, SparkSession

from tests.spark.connectors.conftest import Run
from windrow.connectors.files.runtime import explain_failure, open_source
from windrow.connectors.runtime import SourceRequest, SourceStream
from windrow.errors import UsageError, WindrowError
from windrow.model.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Array, ColumnDef

AB = (ColumnDef("a", INT), ColumnDef("b", STRING))


def source(spark: SparkSession, path: Path | str, *columns: ColumnDef, **options: str) -> SourceStream:
    given = {"path": str(path), **{key.replace("__", "."): value for key, value in options.items()}}
    return open_source(spark, SourceRequest("s", columns or AB, given, is_bounded=True))


def put(path: Path, text: str | bytes, modified: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if modified is not None:
        os.utime(path, (modified, modified))
    return path


def flat(batches: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch]


class TestJson:
    def test_lines_are_raw_and_carry_where_they_came_from(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/b c+d.json", '{"a": 1}\n\n  \t\n{"a": 2}\r\n', modified=2_000_000_000)
        put(tmp_path / "in/z.json", '{"a": 0}', modified=1_000_000_000)
        stream = source(spark, tmp_path / "in")
        assert (stream.format, stream.partitions) == ("json", 1)
        rows = sorted(flat(run(stream)), key=lambda row: int(row["_seq"]))
        assert [row["_raw"].strip() for row in rows] == ['{"a": 0}', '{"a": 1}', '{"a": 2}']
        assert rows[1]["_topic"] == f"file:{tmp_path}/in/b c+d.json"
        assert rows[1]["_offset"] < rows[2]["_offset"]
        assert {(row["_timestamp"], row["_partition"], row["_key"], row["_headers"]) for row in rows} == {(None, 0, None, None)}

    def test_hidden_and_unfinished_files_are_passed_over(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        for name in ("a.json", "tmp", "amp", "_h.json", ".h.json", "a.json.tmp", "sub/s.json"):
            put(tmp_path / "in" / name, name)
        assert {row["_raw"] for row in flat(run(source(spark, tmp_path / "in").frame.select("_raw")))} == {"a.json", "tmp", "amp"}
        deep = source(spark, tmp_path / "in", files__recursive="true").frame.select("_raw")
        assert {row["_raw"] for row in flat(run(deep, "deep"))} == {"a.json", "tmp", "amp", "sub/s.json"}

    def test_one_file_a_pattern_and_compressed_files(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/a.json", "1\n")
        put(tmp_path / "in/b.json.gz", gzip.compress(b"2\n3\n"))
        read = [run(source(spark, tmp_path / "in" / path).frame.select("_raw"), path[0]) for path in ("a.json", "*.gz")]
        assert [[row["_raw"] for row in flat(batches)] for batches in read] == [["1"], ["2", "3"]]
        uri = source(spark, f"file:{tmp_path}/in/a.json").frame.select("_raw")
        assert flat(run(uri, "uri")) == [{"_raw": "1"}]

    def test_files_per_batch_and_going_on_after_a_restart(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        for number in range(3):
            put(tmp_path / f"in/{number}.json", str(number), modified=1_000_000_000 + number)
        frame = source(spark, tmp_path / "in", files__per_batch="1").frame.select("_raw")
        assert [[row["_raw"] for row in batch] for batch in run(frame)] == [["0"], ["1"], ["2"]]
        put(tmp_path / "in/old.json", "old", modified=1)
        assert [row["_raw"] for row in flat(run(frame))] == ["old"], "a file older than those read before is not forgotten"

    def test_an_empty_folder_is_fine(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        assert flat(run(source(spark, tmp_path / "in").frame)) == []

    @pytest.mark.parametrize(
        ("path", "code", "part"),
        [("trads", "WR500", 'did you mean "trades"?'), ("*.jsn", "WR500", "matches"), ("mixed", "WR501", "'format' = 'csv'")],
    )
    def test_wrong_paths_are_found_before_anything_runs(self, spark: SparkSession, tmp_path: Path, path: str, code: str, part: str) -> None:
        (tmp_path / "trades").mkdir()
        put(tmp_path / "mixed/a.csv", "a,b\n")
        with pytest.raises(UsageError) as caught:
            source(spark, tmp_path / path)
        assert caught.value.code == code
        assert part in str(caught.value)


class TestCsv:
    def test_columns_are_matched_by_the_names_in_the_header(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/a.csv", 'B,more,a\n"x, ""y""",9,1\n')
        stream = source(spark, tmp_path / "in/*.csv")
        assert stream.format is None
        assert [(row["a"], row["b"], row["_bad"]) for row in flat(run(stream.frame))] == [(1, 'x, "y"', None)]

    TEXT = "a,b\n1,x\nzz,y\n3\n4,u,v\n,w\n"

    @pytest.mark.parametrize("picked", [["a", "b", "_bad"], ["b", "_bad"], ["_bad"]])
    def test_broken_records_are_found_whatever_is_read(self, spark: SparkSession, run: Run, tmp_path: Path, picked: list[str]) -> None:
        put(tmp_path / "in/a.csv", self.TEXT)
        frame = source(spark, tmp_path / "in", format="csv").frame
        rows = flat(run(frame.select(*picked)))
        assert [row["_bad"] for row in rows] == [None, None, "3", "4,u,v", None]
        if "a" in picked:
            assert [row["a"] for row in rows] == [1, None, 3, 4, None]

    def test_a_field_that_does_not_fit_can_cost_the_row(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/a.csv", self.TEXT)
        frame = source(spark, tmp_path / "in", format="csv", bad__fields="dead_letter").frame
        assert [row["_bad"] for row in flat(run(frame.select("b", "_bad")))] == [None, "zz,y", "3", "4,u,v", None]

    def test_not_null_makes_a_bad_row(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/a.csv", self.TEXT)
        frame = source(spark, tmp_path / "in", ColumnDef("a", INT, nullable=False), AB[1], format="csv").frame
        assert [row["_bad"] for row in flat(run(frame.select("_bad")))] == [None, "zz,y", "3", "4,u,v", ",w"]

    def test_types_and_own_delimiters(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in/a.txt", "2026-01-01T00:00:01Z;1.5;[1,2];-\n")
        columns = (ColumnDef("t", TIMESTAMP), ColumnDef("d", DOUBLE), ColumnDef("l", Array(INT)), ColumnDef("s", STRING))
        options = {"format": "csv", "csv__header": "false", "csv__delimiter": ";", "csv__null": "-"}
        row = flat(run(source(spark, tmp_path / "in", *columns, **options).frame))[0]
        assert (row["t"].isoformat(), row["d"], row["l"], row["s"]) == ("2026-01-01T00:00:01+00:00", 1.5, [1, 2], None)

    @pytest.mark.parametrize(("header", "part"), [("x,b", 'no column "a"'), ("a,", "no name"), ("a,b,A", "twice")])
    def test_wrong_headers_are_found_before_anything_runs(self, spark: SparkSession, tmp_path: Path, header: str, part: str) -> None:
        put(tmp_path / "in/a.csv", f"{header}\n1,2\n")
        with pytest.raises(UsageError, match="WR502") as caught:
            source(spark, tmp_path / "in/a.csv")
        assert part in str(caught.value)


def failure_of(frame: DataFrame) -> WindrowError:
    """What the engine would show for a batch over these files."""
    with pytest.raises(Py4JJavaError) as caught:
        frame.toArrow()
    explained = explain_failure(caught.value)
    assert explained is not None, str(caught.value)
    return explained


class TestParquet:
    def test_missing_columns_are_null_and_rows_have_their_index(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        pq.write_table(pa.table({"b": ["x", "y"], "a": pa.array([1, None], pa.int32())}), tmp_path / "in/a.parquet")
        columns = (ColumnDef("a", BIGINT, nullable=False), AB[1], ColumnDef("z", DOUBLE))
        rows = flat(run(source(spark, tmp_path / "in", *columns, format="parquet").frame))
        assert [(row["a"], row["b"], row["z"], row["_offset"]) for row in rows] == [(1, "x", None, 0), (None, "y", None, 1)]
        assert [row["_bad"] for row in rows] == [None, '{"a":null,"b":"y","z":null}']

    def test_a_torn_file_is_named(self, spark: SparkSession, run: Run, tmp_path: Path) -> None:
        whole = tmp_path / "whole.parquet"
        pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]}), whole)
        torn = put(tmp_path / "in/torn.parquet", whole.read_bytes()[:-20])
        found: list[WindrowError] = []

        def take(batch: DataFrame, _: int) -> None:
            found.append(failure_of(batch))

        frame = source(spark, tmp_path / "in", format="parquet").frame
        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True)
        query.start().awaitTermination()
        assert found[0].code == "WR520"
        assert str(torn) in found[0].message

    def test_another_type_than_declared(self, spark: SparkSession, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": ["x"]}), tmp_path / "a.parquet")
        found = failure_of(spark.read.schema("a INT").parquet(str(tmp_path / "a.parquet")))
        assert found.code == "WR521"
        assert "column a of" in found.message

    def test_other_torn_inputs(self, spark: SparkSession, tmp_path: Path) -> None:
        gz = put(tmp_path / "x.json.gz", gzip.compress(os.urandom(10_000))[:5_000])
        assert failure_of(spark.read.text(str(gz))).code == "WR520"
        csv = put(tmp_path / "x.csv", "b,a\n1,2\n")
        swapped = spark.read.schema("a STRING, b STRING").option("header", "true").option("enforceSchema", "false").csv(str(csv))
        assert failure_of(swapped).code == "WR522"
