"""Delta Lake and Iceberg tables: the contract of sinks and tables, and jobs that write and read them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.delta.store import DeltaStore
from windrow.connectors.iceberg.store import IcebergStore
from windrow.connectors.lake.store import LakeStore, Writing
from windrow.connectors.memory.runtime import SINKS
from windrow.connectors.runtime import Output, SinkRequest
from windrow.errors import JobError, UsageError
from windrow.jobs.connector_loader import connector_of
from windrow.model.types import BIGINT, STRING, ColumnDef
from windrow.testing.contracts import SharedSinkContract, TableSourceContract

FORMATS = ("delta", "iceberg")


def options(format_: str, folder: Path) -> dict[str, str]:
    return {"path": str(folder / "t")} if format_ == "delta" else {"table": "db.t", "warehouse": str(folder / "w")}


def store_of(format_: str, folder: Path) -> LakeStore:
    given = options(format_, folder)
    return DeltaStore(given) if format_ == "delta" else IcebergStore(given)


def rows_of(store: LakeStore) -> list[dict[str, Any]]:
    table = store.open()
    return [] if table is None else table.rows(table.schema.names).to_pylist()


def listed(given: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in given.items())


class LakeSinkContract(SharedSinkContract):
    def options(self, folder: Path) -> Mapping[str, str]:
        return options(self.connector, folder)

    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        return rows_of(store_of(self.connector, folder))


class TestDeltaSink(LakeSinkContract):
    connector = "delta"


class TestIcebergSink(LakeSinkContract):
    connector = "iceberg"


class LakeTableContract(TableSourceContract):
    def options(self, folder: Path) -> Mapping[str, str]:
        return options(self.connector, folder)

    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        store = store_of(self.connector, folder)
        schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
        if store.open() is None:
            store.create(schema)
        table = store.open()
        assert table is not None
        given = pa.Table.from_pylist(list(rows), schema=schema).cast(table.schema)
        table.replace(given, given.slice(0, 0).select(["k"]), ["k"], Writing("test", 0))


class TestDeltaTable(LakeTableContract):
    connector = "delta"


class TestIcebergTable(LakeTableContract):
    connector = "iceberg"


del LakeSinkContract, LakeTableContract


@pytest.fixture(params=FORMATS)
def format_(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def put(folder: Path, name: str, *rows: Mapping[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_windows_that_are_corrected_are_rows_that_are_replaced(spark: SparkSession, format_: str, tmp_path: Path) -> None:
    """Early results, late rows and groups that HAVING takes back; the job is stopped in between."""
    sql = f"""
    CREATE STREAM s (k STRING, v BIGINT, at BIGINT) WITH (
      'connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json', 'event.time.field' = 'at', 'event.time.format' = 'epoch_millis');
    CREATE STREAM sums AS
      SELECT k, _window_start AS since, SUM(v) AS total, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) ALLOWED_LATENESS 1h
      HAVING SUM(v) > 0 EMIT CHANGES PER BATCH
      WITH ('connector' = '{format_}', {listed(options(format_, tmp_path))});
    """

    def run(mode: Any) -> None:
        jobs = windrow.run(sql, spark=spark, mode=mode, state=tmp_path / "state")
        assert jobs.await_end(120)

    put(tmp_path / "in", "1.json", {"k": "a", "v": 1, "at": 1000}, {"k": "b", "v": 1, "at": 2000})
    run("once")
    store = store_of(format_, tmp_path)
    assert sorted((row["k"], row["total"], row["n"]) for row in rows_of(store)) == [("a", 1, 1), ("b", 1, 1)]
    put(tmp_path / "in", "2.json", {"k": "a", "v": 5, "at": 3000}, {"k": "b", "v": -9, "at": 2000}, {"k": "a", "v": 2, "at": 60_000})
    run("once")
    assert sorted((row["k"], row["since"].timestamp(), row["total"]) for row in rows_of(store)) == [("a", 0, 6), ("a", 60, 2)]
    run("until_end")
    assert len(rows_of(store)) == 2


def test_a_table_is_joined_and_followed(spark: SparkSession, format_: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string()))])
    store = store_of(format_, tmp_path)
    store.create(schema)
    sql = f"""
    CREATE TABLE names (ID INT NOT NULL, name STRING, tags ARRAY<STRING>, PRIMARY KEY (ID)) WITH (
      'connector' = '{format_}', {listed(options(format_, tmp_path))}, 'refresh.interval' = '1ms');
    CREATE STREAM s (id BIGINT) WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json');
    CREATE STREAM out AS SELECT s.id, n.name, n.tags FROM s LEFT JOIN names n ON s.id = n.id WITH ('connector' = 'memory');
    """
    found = []
    given: list[list[tuple[int, str, list[str] | None]]] = [[(1, "one", ["x"]), (2, "two", None)], [(2, "zwei", [])]]
    for number, names in enumerate(given):
        table = store.open()
        assert table is not None
        rows = pa.Table.from_pylist([dict(zip(schema.names, name, strict=True)) for name in names], schema=schema).cast(table.schema)
        table.replace(rows, rows.slice(0, 0).select(["id"]), ["id"], Writing("test", number))
        put(tmp_path / "in", f"{number}.json", {"id": 1}, {"id": 2}, {"id": 3})
        SINKS.pop("out", None)
        jobs = windrow.run(sql, spark=spark, mode="once", state=tmp_path / "state")
        assert jobs.await_end(120)
        found.append([(row["id"], row["name"], row["tags"]) for row in SINKS["out"].rows()])
    assert found == [[(1, "one", ["x"]), (2, "two", None), (3, None, None)], [(1, "one", ["x"]), (2, "zwei", []), (3, None, None)]]


def sink_of(spark: SparkSession, format_: str, folder: Path, key: tuple[str, ...] = (), **more: str) -> Any:
    columns = (ColumnDef("k", STRING), ColumnDef("v", BIGINT))
    given = {**options(format_, folder), **{name.replace("_", "."): value for name, value in more.items()}}
    connector = connector_of(format_)
    return connector.open_sink(spark, SinkRequest("out", given, "job", columns, key, threading.Event()))


def test_a_table_that_is_not_to_be_made_or_does_not_fit(spark: SparkSession, format_: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[WR912\] there is no table"):
        sink_of(spark, format_, tmp_path, table_create="false").open()
    store_of(format_, tmp_path).create(pa.schema([("k", pa.int64()), ("v", pa.int64())]))
    with pytest.raises(UsageError, match=r'\[WR913\] the column "k" of .* is int64, which cannot hold every string'):
        sink_of(spark, format_, tmp_path).open()
    with pytest.raises(UsageError, match=r"\[WR914\] 'write.mode' = 'upsert' needs a key"):
        sink_of(spark, format_, tmp_path, write_mode="upsert")


def test_going_back(spark: SparkSession, format_: str, tmp_path: Path) -> None:
    """Batches after the one that a job goes back to are written again, where rows have a key; a job behind its table is told."""
    keyed = sink_of(spark, format_, tmp_path, ("k",))
    keyed.open()
    for batch in (0, 1, 2):
        keyed.write(Output(batch, ("k", "v"), pa.table({"k": ["a"], "v": pa.array([batch], pa.int64())})))
    with pytest.raises(JobError, match=r"\[WR915\] the table .* holds batch 2 of out, and the job is at batch 1"):
        keyed.write(Output(1, ("k", "v"), pa.table({"k": ["a"], "v": pa.array([9], pa.int64())})))
    connector = connector_of(format_)
    request = SinkRequest("out", options(format_, tmp_path), "job", (ColumnDef("k", STRING), ColumnDef("v", BIGINT)), ("k",))
    connector.forget_after(request, 0)
    keyed.write(Output(1, ("k", "v"), pa.table({"k": ["a"], "v": pa.array([7], pa.int64())})))
    assert rows_of(store_of(format_, tmp_path)) == [{"k": "a", "v": 7}]
    unkeyed = SinkRequest("out", options(format_, tmp_path), "job", (ColumnDef("k", STRING), ColumnDef("v", BIGINT)))
    with pytest.raises(UsageError, match=r"\[WR916\] rows are only added to .*, so those of batches 1 to 1 cannot be taken back"):
        connector.forget_after(unkeyed, 0)


def test_a_row_is_taken_back_only_with_a_key(spark: SparkSession, format_: str, tmp_path: Path) -> None:
    sink = sink_of(spark, format_, tmp_path)
    sink.open()
    rows = pa.table({"k": ["a"], "v": pa.array([1], pa.int64()), "_emission": ["retract"]})
    with pytest.raises(JobError, match=r"\[WR916\] out takes a row back"):
        sink.write(Output(0, ("k", "v"), rows))
