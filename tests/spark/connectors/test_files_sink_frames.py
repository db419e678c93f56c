"""Frames written by Spark and tables written by the driver hold the same values, on every kind of folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from windrow.connectors.files.manifest import committed_files, read_manifest
from windrow.connectors.files.runtime import open_sink
from windrow.connectors.files.settings import SinkSettings
from windrow.connectors.files.sink import FileSink
from windrow.connectors.runtime import Output, SinkRequest
from windrow.errors import JobError, UsageError
from windrow.storage import Folder, LocalFolder
from windrow.storage.hadoop import HadoopFolder
from windrow.storage.jvm import hadoop_of

VALUES = """
    SELECT timestamp'2026-01-01 00:00:10.5' t, timestamp_ntz'2026-01-01 00:00:10' n, date'2026-01-02' d, CAST(1.50 AS DECIMAL(10,2)) c,
        1.0E-7D f, CAST(0.1 AS FLOAT) g, double('NaN') x, 9007199254740993L i, true o, 'a "b", \\\\ é\\n' s, '' e, CAST(NULL AS STRING) z,
        binary('ab') y, array(1, NULL) l, map('k', timestamp'2026-01-01 00:00:00') m,
        named_struct('p', nullif(1, 2), 'q', CAST(NULL AS INT)) r
    UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
"""


@pytest.fixture(params=["local", "hadoop"])
def folder(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Folder:
    return LocalFolder(str(tmp_path / "out")) if request.param == "local" else HadoopFolder(hadoop_of(spark), f"file:{tmp_path}/out")


def sink(folder: Folder, format_: str = "json", **options: str) -> FileSink:
    made = FileSink(folder, "out", SinkSettings.of({"path": folder.uri(), "format": format_, **options}))
    made.open()
    return made


def visible(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if not entry.name.startswith((".", "_")))


def lines(path: Path) -> list[Any]:
    return [json.loads(line, parse_float=str) for name in visible(path) for line in (path / name).read_text().splitlines()]


def test_json_frames_and_tables_agree(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    frame = spark.sql(VALUES)
    columns = tuple(frame.columns)
    sink(folder).write(Output(0, columns, frame=frame))
    by_frame = lines(tmp_path / "out")
    sink(folder).write(Output(0, columns, table=frame.toArrow()))
    by_table = lines(tmp_path / "out")
    # The same number may be written 1.0E-7 or 1e-07.
    assert [{**row, "f": row["f"] and float(row["f"])} for row in by_frame] == [
        {**row, "f": row["f"] and float(row["f"])} for row in by_table
    ]
    first = by_table[0]
    assert (first["t"], first["c"], first["i"], first["y"]) == ("2026-01-01T00:00:10.500000Z", "1.50", 9007199254740993, "YWI=")
    assert (first["g"], first["x"], first["m"], first["r"]) == ("0.1", "NaN", {"k": "2026-01-01T00:00:00.000000Z"}, {"p": 1, "q": None})
    assert list(first) == list(columns)


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_other_formats_agree(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    frame = spark.sql(VALUES).drop("n")
    columns = tuple(frame.columns)

    def read_back(output: Output, name: str) -> list[Any]:
        path = str(tmp_path / name)
        sink(LocalFolder(path), format_).write(output)
        reader = spark.read.option("header", "true").option("multiLine", "true").option("escape", '"')
        return [str(row) for row in (reader.csv(path) if format_ == "csv" else reader.parquet(path)).orderBy("s").collect()]

    by_table, by_frame = read_back(Output(0, columns, table=frame.toArrow()), "t"), read_back(Output(0, columns, frame=frame), "f")
    assert [text.replace("1.0E-7", "1e-07") for text in by_frame] == by_table
    if format_ == "parquet":
        types = {str(pq.read_schema(path).field("t").type) for path in (tmp_path / "f").glob("*.parquet")}
        assert types == {"timestamp[us, tz=UTC]"}


def test_only_visible_columns_are_written(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    sink(folder).write(Output(3, ("b.c", "a"), frame=spark.sql("SELECT 1 a, 2 `b.c`, 'k' _key")))
    assert lines(tmp_path / "out") == [{"b.c": 2, "a": 1}]
    assert visible(tmp_path / "out") == ["batch-0000000003-out-00000.json"]


def test_writing_a_batch_again_leaves_what_writing_it_once_leaves(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    made = sink(folder)

    def write(partitions: int) -> dict[str, str]:
        made.write(Output(7, ("id",), frame=spark.range(0, 10, 1, partitions).selectExpr("id")))
        return {name: (tmp_path / "out" / name).read_text() for name in visible(tmp_path / "out")}

    once = write(3)
    assert list(once) == [f"batch-0000000007-out-0000{part}.json" for part in range(3)]
    assert write(3) == once
    assert list(write(1)) == ["batch-0000000007-out-00000.json"], "parts of an earlier, wider attempt are gone"
    manifest = read_manifest(str(tmp_path / "out"))[0]
    assert (manifest.batch_id, manifest.statement, manifest.rows, len(manifest.files)) == (7, "out", 10, 1)
    assert committed_files(str(tmp_path / "out")) == [f"{tmp_path}/out/batch-0000000007-out-00000.json"]
    assert list((tmp_path / "out/.staging").iterdir()) == []


def test_leftovers_of_a_crash_while_moving_are_taken_away(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    made = sink(folder)
    (tmp_path / "out/batch-0000000007-out-00009.json").write_text("torn")
    (tmp_path / "out/batch-0000000007-out-x-00000.json").write_text("another statement")
    folder.make(".staging/0000000007-out")
    made.write(Output(7, ("id",), frame=spark.range(1).selectExpr("id")))
    assert visible(tmp_path / "out") == ["batch-0000000007-out-00000.json", "batch-0000000007-out-x-00000.json"]


def test_an_empty_frame_writes_nothing(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    for format_ in ("json", "csv", "parquet"):
        sink(folder, format_).write(Output(1, ("id",), frame=spark.range(10).where("id > 10")))
    assert visible(tmp_path / "out") == []
    assert read_manifest(str(tmp_path / "out")) == []


def test_one_action_and_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("1\n2\n")
    made = sink(LocalFolder(str(tmp_path / "out")))

    def take(batch: DataFrame, batch_id: int) -> None:
        batch.sparkSession.sparkContext.setJobGroup("one-action", "one action")
        made.write(Output(batch_id, ("value",), frame=batch))

    query = spark.readStream.text(str(tmp_path / "in")).writeStream.foreachBatch(take)
    query.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True).start().awaitTermination()
    assert lines(tmp_path / "out") == [{"value": "1"}, {"value": "2"}]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("one-action")) == 1
    assert read_manifest(str(tmp_path / "out"))[0].rows == 2


def test_a_failing_frame_leaves_nothing_and_says_why(spark: SparkSession, tmp_path: Path, folder: Folder) -> None:
    torn = tmp_path / "torn.parquet"
    torn.write_bytes(b"PAR1 this is not it")
    with pytest.raises(JobError, match="WR520") as caught:
        sink(folder).write(Output(0, ("a",), frame=spark.read.schema("a INT").parquet(str(torn))))
    assert str(torn) in str(caught.value)
    assert visible(tmp_path / "out") == []
    assert list((tmp_path / "out/.staging").iterdir()) == []


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_a_file_in_the_place_of_the_folder(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("")
    path = f"{tmp_path}/file/out"
    folder: Folder = LocalFolder(path) if kind == "local" else HadoopFolder(hadoop_of(spark), f"file:{path}")
    with pytest.raises(UsageError, match="WR510"):
        sink(folder)


def test_the_door_the_engine_uses(spark: SparkSession, tmp_path: Path) -> None:
    made = open_sink(spark, SinkRequest("out", {"path": f"file:{tmp_path}/out"}))
    made.open()
    made.write(Output(0, ("id",), table=spark.range(2).toArrow()))
    made.close()
    assert lines(tmp_path / "out") == [{"id": 0}, {"id": 1}]
