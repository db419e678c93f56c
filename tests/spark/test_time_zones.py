"""A file with a time zone: what it reads and what it writes, by the driver and by the executors."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.encoding import json_frame, json_lines
from windrow.connectors.files.csv_text import csv_lines
from windrow.connectors.files.settings import SinkSettings
from windrow.connectors.files.sink import _save
from windrow.connectors.kafka.records import _keys, record_columns
from windrow.connectors.zones import in_zone, labelled, zone_of

ZONE = "Asia/Tokyo"
ROWS = """
    SELECT timestamp'2026-01-01 09:00:10.5' AS t, timestamp_ntz'2026-01-01 09:00:10' AS n,
      map('k', timestamp'2026-01-01 00:00:00') AS m, array(named_struct('at', timestamp'2026-01-01 00:00:00')) AS l,
      timestamp'2026-01-01 09:00:00' AS _key
"""
SQL = """
CREATE STREAM trades (symbol STRING, at TIMESTAMP, day STRING) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = '{format}', 'event.time.field' = 'at', 'time.zone' = 'Asia/Tokyo');
CREATE STREAM seen AS SELECT symbol, at, HOUR(at) AS h FROM trades
  WITH ('connector' = 'files', 'path' = '{folder}/seen', 'format' = '{out}');
CREATE STREAM counted AS SELECT symbol, MAX(at) AS last, _window_start AS s, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(1h)
  WITH ('connector' = 'files', 'path' = '{folder}/counted', 'format' = '{out}');
"""


def test_a_session_in_another_zone_differs_in_that_alone(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    tokyo = in_zone(spark, ZONE)
    assert (zone_of(tokyo), zone_of(spark)) == (ZONE, "UTC")
    assert tokyo.conf.get("spark.sql.shuffle.partitions") == before
    assert tokyo.sql("SELECT hour(timestamp_micros(0)) AS h").collect()[0]["h"] == 9
    assert in_zone(spark, "UTC") is spark


def test_frames_and_tables_are_spelled_alike(spark: SparkSession, tmp_path: Path) -> None:
    frame = in_zone(spark, ZONE).sql(ROWS)
    table = labelled(frame.toArrow(), ZONE)
    columns = ("t", "n", "m", "l")
    by_frame = [row["value"] for row in json_frame(frame, columns).collect()]
    assert by_frame == list(json_lines(table, columns))
    assert json.loads(by_frame[0]) == {
        "t": "2026-01-01T09:00:10.500000+09:00",
        "n": "2026-01-01T09:00:10.000000",
        "m": {"k": "2026-01-01T00:00:00.000000+09:00"},
        "l": [{"at": "2026-01-01T00:00:00.000000+09:00"}],
    }
    settings = SinkSettings.of({"path": str(tmp_path), "format": "csv"})
    _save(frame, columns, settings, f"file:{tmp_path}/csv")
    written = [path.read_text().splitlines() for path in (tmp_path / "csv").glob("*.csv")]
    assert written == [list(csv_lines(table, columns, settings.csv))]
    keys = [bytes(row["key"]) for row in frame.select(record_columns(frame, columns, with_times=False)["key"].alias("key")).collect()]
    assert keys == _keys(table) == [b"2026-01-01T09:00:00.000000+09:00"]


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_times_without_a_zone_are_read_in_it_and_shown_in_it(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    (tmp_path / "in").mkdir()
    rows = [("a", "2026-01-01 09:00:00"), ("a", "2026-01-01T01:00:00Z"), ("b", "2026-01-01 10:59:59")]
    if format_ == "json":
        lines = [json.dumps({"symbol": symbol, "at": at, "day": "x"}) for symbol, at in rows]
    else:
        lines = ["symbol,at,day", *(f"{symbol},{at},x" for symbol, at in rows)]
    (tmp_path / "in" / f"1.{format_}").write_text("".join(f"{line}\n" for line in lines))
    jobs = windrow.run(SQL.format(folder=tmp_path, format=format_, out="json"), spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced
    assert _lines(tmp_path / "seen") == [
        {"symbol": "a", "at": "2026-01-01T09:00:00.000000+09:00", "h": 9},
        {"symbol": "a", "at": "2026-01-01T10:00:00.000000+09:00", "h": 10},
        {"symbol": "b", "at": "2026-01-01T10:59:59.000000+09:00", "h": 10},
    ]
    assert _lines(tmp_path / "counted") == [
        {"symbol": "a", "last": "2026-01-01T09:00:00.000000+09:00", "s": "2026-01-01T09:00:00.000000+09:00", "n": 1},
        {"symbol": "a", "last": "2026-01-01T10:00:00.000000+09:00", "s": "2026-01-01T10:00:00.000000+09:00", "n": 1},
        {"symbol": "b", "last": "2026-01-01T10:59:59.000000+09:00", "s": "2026-01-01T10:00:00.000000+09:00", "n": 1},
    ]
    assert zone_of(spark) == "UTC"


def test_parquet_holds_the_same_instants(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"symbol": "a", "at": "2026-01-01 09:00:00", "day": "x"}\n')
    jobs = windrow.run(SQL.format(folder=tmp_path, format="json", out="parquet"), spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(120)
    for name, column in (("seen", "at"), ("counted", "last")):
        [path] = (tmp_path / name).glob("batch-*")
        assert [value.timestamp() for value in pq.read_table(path)[column].to_pylist()] == [1_767_225_600]


def _lines(folder: Path) -> list[dict[str, object]]:
    found = [json.loads(line) for path in sorted(folder.glob("batch-*.json")) for line in path.read_text().splitlines()]
    return sorted(found, key=lambda row: (str(row["symbol"]), str(row.get("s", row.get("at")))))


def test_the_console_shows_times_of_the_zone(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"at": "2026-01-01T00:00:00Z"}\n')
    sql = f"""CREATE STREAM t (at TIMESTAMP) WITH ('connector' = 'files', 'path' = '{tmp_path}/in', 'format' = 'json',
      'event.time.field' = 'at', 'time.zone' = 'Asia/Tokyo'); SELECT at FROM t; SELECT MAX(at) AS last FROM t EMIT FINAL"""
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state")
    assert jobs.await_end(120)
    assert capsys.readouterr().out.count("2026-01-01 09:00:00") == 2
