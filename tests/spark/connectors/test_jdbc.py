"""JDBC against H2, a database in one jar: adding, replacing, taking back, loading, and what is said where something is missing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.jdbc.database import Database
from windrow.connectors.jdbc.dialects import DIALECTS, Columns
from windrow.connectors.jdbc.runtime import JdbcConnector
from windrow.connectors.memory.runtime import SINKS
from windrow.connectors.runtime import Output, SinkRequest, SourceRequest
from windrow.errors import JobError, NotThereError, UsageError, WindrowError
from windrow.jars import H2, jar_files
from windrow.model.types import BIGINT, STRING, ColumnDef

COLUMNS = (ColumnDef("k", STRING), ColumnDef("v", BIGINT))
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def jar() -> Path:
    return jar_files(H2)[0]


@pytest.fixture
def options(jar: Path, tmp_path: Path) -> dict[str, str]:
    # The driver is loaded once by Spark and once for our statements, and such a file is opened by one of them only: it serves the other.
    return {"url": f"jdbc:h2:{tmp_path}/db;AUTO_SERVER=TRUE", "driver.jar": str(jar), "user": "sa", "password": "", "table": "T"}


Ask = Callable[[str], None]


@pytest.fixture
def ask(spark: SparkSession, options: dict[str, str]) -> Ask:
    return lambda text: Database.of(spark, options).run([text])


def rows_of(spark: SparkSession, options: dict[str, str], columns: tuple[ColumnDef, ...] = COLUMNS) -> Rows:
    stream = JdbcConnector().open_source(spark, SourceRequest("t", columns, options, is_bounded=True, is_table=True))
    return sorted((tuple(row) for row in stream.frame.collect()), key=repr)


def sink_of(spark: SparkSession, options: dict[str, str], key: tuple[str, ...] = (), **more: str) -> Any:
    given = {**options, **{name.replace("_", "."): value for name, value in more.items()}}
    return JdbcConnector().open_sink(spark, SinkRequest("out", given, "job", COLUMNS, key, threading.Event()))


def batch(number: int, *rows: tuple[Any, ...]) -> Output:
    table = pa.table({"k": [row[0] for row in rows], "v": pa.array([row[1] for row in rows], pa.int64())})
    if rows and len(rows[0]) > 2:
        table = table.append_column("_emission", pa.array([row[2] for row in rows], pa.string()))
    return Output(number, ("k", "v"), table)


def test_rows_are_added(spark: SparkSession, options: dict[str, str], ask: Ask) -> None:
    """At least once: a batch that is written twice is there twice."""
    ask("CREATE TABLE t (k VARCHAR(10), v BIGINT, more INT DEFAULT 7)")
    sink = sink_of(spark, options)
    sink.open()
    sink.write(batch(0, ("a", 1), (None, None)))
    sink.write(Output(1, ("k", "v"), frame=spark.createDataFrame([("b", 2)], "k STRING, v BIGINT")))
    sink.write(batch(1, ("b", 2)))
    sink.write(batch(2))
    assert rows_of(spark, options) == [("a", 1), ("b", 2), ("b", 2), (None, None)]
    with pytest.raises(JobError, match=r"\[WR908\] out takes a row back"):
        sink.write(batch(3, ("a", 1, "retract")))


def test_rows_are_replaced_by_key_and_taken_back(spark: SparkSession, options: dict[str, str], ask: Ask) -> None:
    ask("CREATE TABLE t (k VARCHAR(10) PRIMARY KEY, v BIGINT)")
    for _ in range(2):
        sink = sink_of(spark, options, ("k",))
        sink.open()
        sink.write(batch(0, ("a", 1, "early"), ("b", 2, "early"), ("a", 3, "final"), ("c", 9, "early")))
        sink.write(
            batch(
                1,
                ("b", 4, "retract"),
                ("never", 1, "retract"),
                ("d", 5, "early"),
                ("d", 5, "retract"),
                ("c", 1, "retract"),
                ("c", 2, "final"),
            )
        )
    assert rows_of(spark, options) == [("a", 3), ("c", 2)]


def test_a_job_writes_and_reads_tables(spark: SparkSession, options: dict[str, str], ask: Ask, tmp_path: Path) -> None:
    ask("CREATE TABLE names (id INT, name VARCHAR(10), at TIMESTAMP WITH TIME ZONE)")
    ask("INSERT INTO names VALUES (1, 'one', '2026-01-01 00:00:00Z'), (2, NULL, NULL)")
    ask("CREATE TABLE counts (name VARCHAR(10), n BIGINT, PRIMARY KEY (name))")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text("".join(json.dumps({"id": number}) + "\n" for number in (1, 1, 2, 3)))
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items() if key != "table")
    sql = f"""
    CREATE TABLE names (id BIGINT NOT NULL, NAME STRING, at TIMESTAMP, PRIMARY KEY (id))
      WITH ('connector' = 'jdbc', 'table' = 'names', {listed});
    CREATE STREAM s (id BIGINT) WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json');
    CREATE STREAM out AS SELECT s.id, n.name, n.at FROM s LEFT JOIN names n ON s.id = n.id WITH ('connector' = 'memory');
    CREATE STREAM counted AS
      SELECT COALESCE(n.name, '?') AS name PRIMARY KEY, COUNT(*) AS n FROM s LEFT JOIN names n ON s.id = n.id GROUP BY COALESCE(n.name, '?')
      EMIT CHANGES WITH ('connector' = 'jdbc', 'table' = 'counts', {listed});
    """
    SINKS.pop("out", None)
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(120)
    assert [(row["id"], row["name"], row["at"] is None) for row in SINKS["out"].rows()] == [
        (1, "one", False),
        (1, "one", False),
        (2, None, True),
        (3, None, True),
    ]
    counts = (ColumnDef("name", STRING), ColumnDef("n", BIGINT))
    assert rows_of(spark, {**options, "table": "counts"}, counts) == [("?", 2), ("one", 2)]


def test_what_is_missing_is_said(spark: SparkSession, options: dict[str, str], ask: Ask, jar: Path, tmp_path: Path) -> None:
    def refused(error: type[WindrowError], text: str, **changed: str) -> None:
        given = {**options, **{key.replace("_", "."): value for key, value in changed.items()}}
        with pytest.raises(error, match=text) as found:
            sink_of(spark, given, ("k",)).open()
        assert "secret" not in str(found.value)

    refused(UsageError, r"\[WR918\] the driver .*nothing.jar is not there", driver_jar=str(tmp_path / "nothing.jar"))
    refused(UsageError, r"\[WR918\] there is no JDBC driver in .* for this 'url' \(no class org.h2.Nothing\)", driver="org.h2.Nothing")
    refused(UsageError, r"\[WR918\] there is no JDBC driver in .* for this 'url'", url="jdbc:mysql://u:secret@127.0.0.1:9/x")
    refused(UsageError, r"\[WR919\] 'url' is not the address of a database", url="mysql://u:secret@db/x")
    refused(JobError, r'(?s)\[WR909\] could not open the table T: .*Table "T" not found')
    ask("CREATE TABLE t (k VARCHAR(1), w BIGINT)")
    refused(UsageError, r'(?s)\[WR908\] the table T has no column "v".*it has: K, W')
    ask("ALTER TABLE t RENAME COLUMN w TO v")
    sink = sink_of(spark, options)
    sink.open()
    with pytest.raises(JobError, match=r"\[WR909\] could not write batch 0 of out to T: Value too long for column"):
        sink.write(batch(0, ("long", 1)))
    with pytest.raises(UsageError, match=r"\[WR919\] how .* replaces rows by key is not known"):
        sink_of(spark, {**options, "dialect": "exotic"}, ("k",))


def test_a_table_that_is_not_there_yet_is_waited_for(spark: SparkSession, options: dict[str, str]) -> None:
    away = {**options, "url": "jdbc:h2:tcp://127.0.0.1:9/nothing"}
    with pytest.raises(NotThereError, match=r"\[WR909\] could not load the table T"):
        rows_of(spark, away)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_names_all_columns(name: str) -> None:
    columns = Columns("t1", "stage1", ('"k"', '"v"'), ('"k"',), "windrow_gone")
    taken, upserted = DIALECTS[name].replace(columns)
    assert taken == 'DELETE FROM t1 WHERE EXISTS (SELECT 1 FROM stage1 s WHERE s.windrow_gone = 1 AND s."k" = t1."k")'
    assert all(part in upserted for part in ("t1", "stage1", '"k"', '"v"', "windrow_gone = 0"))
    assert "stage1" in DIALECTS[name].stage(columns)
