"""Tables read from files, as jobs load them: formats, keys, bad rows, waiting, and coming back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.compiler import compile_sql
from windrow.connectors.memory.runtime import rows_to_table, table_stream
from windrow.connectors.runtime import SourceStream
from windrow.errors import JobError, NotThereError
from windrow.observe.status import ENDED, JobStatus
from windrow.plan.stages import Read
from windrow.spark.tables.reference_tables import ReferenceTables

SQL = """
CREATE STREAM trades (id BIGINT, k BIGINT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis'
);
CREATE TABLE names (k BIGINT NOT NULL, name STRING, PRIMARY KEY (k)) WITH (
  'connector' = 'files', 'path' = '{folder}/names', 'format' = '{format}'{table}
);
CREATE STREAM named AS SELECT t.id, n.name FROM trades t LEFT JOIN names n ON t.k = n.k
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json'{extra});
"""
NAMES: list[dict[str, Any]] = [{"k": 1, "name": "old"}, {"k": 2, "name": "two"}, {"k": 1, "name": "one"}]


def _json(folder: Path) -> None:
    (folder / "names.json").write_text("".join(json.dumps(row) + "\n" for row in NAMES) + "{broken\n")


def _csv(folder: Path) -> None:
    (folder / "names.csv").write_text("name,k\n" + "".join(f"{row['name']},{row['k']}\n" for row in NAMES))


def _parquet(folder: Path) -> None:
    pq.write_table(pa.Table.from_pylist(NAMES), folder / "names.parquet")


def _run(spark: SparkSession, folder: Path, format_: str = "json", extra: str = "", mode: Any = "until_end", table: str = "") -> JobStatus:
    sql = SQL.format(folder=folder, format=format_, extra=extra, table=table)
    jobs = windrow.run(sql, spark=spark, mode=mode, state=folder / "state")
    assert jobs.await_end(120)
    return jobs.status()[0]


def _feed(folder: Path, name: str, keys: list[int]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / name).write_text("".join(json.dumps({"id": 10 * key, "k": key, "ts": 1000}) + "\n" for key in keys))


def _out(folder: Path) -> list[tuple[int, str | None]]:
    lines = [line for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]
    return [(row["id"], row.get("name")) for row in map(json.loads, lines)]


@pytest.mark.parametrize(("format_", "write"), [("json", _json), ("csv", _csv), ("parquet", _parquet)])
def test_a_table_is_the_latest_row_per_key(spark: SparkSession, tmp_path: Path, format_: str, write: Callable[[Path], None]) -> None:
    (tmp_path / "names").mkdir()
    write(tmp_path / "names")
    _feed(tmp_path, "1.json", [1, 2, 3])
    status = _run(spark, tmp_path, format_)
    assert status.state == ENDED
    assert _out(tmp_path) == [(10, "one"), (20, "two"), (30, None)]
    table = status.ledger.sources["names"]
    assert (table.rows_in, dict(table.dead)) == ((4, {"WR701": 1}) if format_ == "json" else (3, {}))
    assert status.ledger.is_balanced


def test_a_job_that_comes_back_loads_its_tables_anew(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    _json(tmp_path / "names")
    _feed(tmp_path, "1.json", [1])
    _run(spark, tmp_path, mode="once")
    (tmp_path / "names" / "more.json").write_text('{"k": 3, "name": "three"}\n')
    _feed(tmp_path, "2.json", [3])
    status = _run(spark, tmp_path, mode="once")
    assert _out(tmp_path) == [(10, "one"), (30, "three")]
    assert status.ledger.sources["names"].rows_in == 4, "what was read before is counted once"


def test_files_that_have_changed_are_loaded_by_a_refresh(spark: SparkSession, tmp_path: Path) -> None:
    fresh = ", 'refresh.interval' = '1ms'"
    (tmp_path / "names").mkdir()
    _json(tmp_path / "names")
    _feed(tmp_path, "1.json", [1])
    _run(spark, tmp_path, mode="once", table=fresh)
    _feed(tmp_path, "2.json", [2])
    status = _run(spark, tmp_path, mode="once", table=fresh)
    assert status.ledger.sources["names"].rows_in == 4, "nothing had changed, nothing was read"
    (tmp_path / "names" / "names.json").unlink()
    (tmp_path / "names" / "more.json").write_text('{"k": 3, "name": "three"}\n')
    _feed(tmp_path, "3.json", [2, 3])
    status = _run(spark, tmp_path, mode="once", table=fresh)
    assert _out(tmp_path) == [(10, "one"), (20, "two"), (20, None), (30, "three")]
    assert (status.ledger.sources["names"].rows_in, status.ledger.is_balanced) == (5, True)


def test_a_table_that_does_not_come_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    _feed(tmp_path, "1.json", [1])
    with pytest.raises(JobError, match=r"the table names could not be loaded within 300ms: .*names does not exist") as caught:
        _run(spark, tmp_path, extra=", 'table.wait.timeout' = '300ms'")
    assert caught.value.code == "WR830"


def test_a_missing_row_stops_the_job_if_so_wanted(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    _json(tmp_path / "names")
    _feed(tmp_path, "1.json", [1, 3])
    with pytest.raises(JobError, match="1 rows found nothing in the table names") as caught:
        _run(spark, tmp_path, extra=", 'join.on_missing' = 'fail'")
    assert caught.value.code == "WR831"


def test_loading_is_tried_again_until_the_table_is_there(spark: SparkSession) -> None:
    sql = """
    CREATE STREAM t (k BIGINT) WITH ('connector' = 'memory');
    CREATE TABLE names (k BIGINT, name STRING, PRIMARY KEY (k)) WITH ('connector' = 'memory');
    CREATE STREAM named AS SELECT t.k, n.name FROM t JOIN names n ON t.k = n.k
    """
    tables = ReferenceTables(spark, compile_sql(sql).plan.jobs[0])
    tries: list[str] = []
    pauses: list[float] = []

    def open_table(read: Read) -> SourceStream:
        tries.append(read.name)
        if len(tries) < 4:
            raise NotThereError("WR500", "names does not exist")
        return table_stream(spark, rows_to_table([{"k": 1, "name": "one"}], 0), 1)

    tables.load(open_table, sleep=pauses.append)
    assert len(tries) == 4
    assert pauses == [0.2, 0.4, 0.8]
    assert [row["name"] for row in tables.frame("names").collect()] == ["one"]
