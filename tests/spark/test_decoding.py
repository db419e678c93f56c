"""JSON rows: what nobody asks for is decoded only where a row is set aside, and text behind an object makes a bad row."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.compiler import compile_sql
from windrow.connectors.runtime import NO_PROVENANCE, RAW, SEQ, SourceStream
from windrow.jobs.letters import read_letters
from windrow.plan.physical.strategies import Scan
from windrow.plan.stages import Read
from windrow.spark.row_columns import FATE
from windrow.spark.scan.row_reader import RowReader

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, note STRING, ts BIGINT, tags ARRAY<STRING>) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'bad.fields' = '{bad_fields}',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'files.per_batch' = '1');
CREATE STREAM sums AS SELECT symbol, SUM(price) AS total FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _read(bad_fields: str = "null") -> Read:
    stages = compile_sql(SQL.format(folder="x", bad_fields=bad_fields), env={}).plan.jobs[0].stages
    return next(stage for stage in stages if isinstance(stage, Read))


def _names(read: Read) -> list[str]:
    return [column.name for column in read.decoded]


def test_columns_that_no_statement_names_are_not_decoded() -> None:
    assert _names(_read()) == ["symbol", "price", "ts"]


def test_where_a_bad_field_costs_the_row_all_are_decoded() -> None:
    assert _names(_read("dead_letter")) == ["symbol", "price", "note", "ts", "tags"]


def test_a_late_row_keeps_what_nobody_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    at = 1_700_000_000_000
    files = [
        [{"symbol": "A", "price": 1.5, "note": "first", "ts": at, "tags": ["x", "y"]}, {"symbol": "A", "price": 2.0, "ts": at + 60_000}],
        [
            {"symbol": "A", "price": 4.0, "note": "la}te", "ts": at, "tags": ["z"]},
            {"symbol": "A", "price": 1.0, "note": 7, "ts": at + 61_000},
        ],
    ]
    for number, rows in enumerate(files):
        path = tmp_path / "in" / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    jobs = windrow.run(SQL.format(folder=tmp_path, bad_fields="null"), spark=spark, mode="once", state=tmp_path / "state")
    assert jobs.await_end(120)
    ledger = jobs.status()[0].ledger
    assert ledger.is_balanced
    [letters] = read_letters(tmp_path / "state")
    assert [json.loads(letter["row"])["note"] for letter in letters.records] == ["la}te"]


def test_a_row_that_its_source_sets_aside_is_whole_however_many_read_it(spark: SparkSession, tmp_path: Path) -> None:
    """Statements that group differently do not share: the accounts of the source are a job of their own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text('{"symbol": "A", "price": 1.5, "note": "no time", "tags": ["x"]}\n')
    beside = "CREATE STREAM most AS SELECT MAX(price) AS most FROM trades WINDOW TUMBLING(10s) WITH ('connector' = 'memory');"
    sql = SQL.format(folder=tmp_path, bad_fields="null") + beside
    jobs = windrow.run(sql, spark=spark, mode="once", state=tmp_path / "state")
    assert jobs.await_end(120)
    [letters] = read_letters(tmp_path / "state")
    assert [json.loads(letter["row"]) for letter in letters.records] == [
        {"note": "no time", "tags": ["x"], "symbol": "A", "price": 1.5, "ts": None}
    ]


@pytest.mark.parametrize(
    ("line", "is_good"),
    [
        ('{"symbol":"A","price":1,"ts":1700000000000}', True),
        ('{"symbol":"A","price":1,"ts":1700000000000} \t', True),
        (' {"symbol":"A","price":1,"ts":1700000000000}', True),
        ('{"symbol":"A}","price":1,"ts":1700000000000}', True),
        ('{"symbol":"A","price":1,"more":{"a":{}},"ts":1700000000000}', True),
        ('{"symbol":"A","price":1,"ts":1700000000000}}', False),
        ('{"symbol":"A","price":1,"ts":1700000000000} x', False),
        ('{"symbol":"A","price":1,"ts":1700000000000}{"symbol":"B","ts":1}', False),
        ('{"symbol":"A","price":1,"ts":1700000000000}, {"symbol":"B","ts":1}', False),
        ('[{"symbol":"A","price":1,"ts":1700000000000}]', False),
        ('[{"symbol":"A"}', False),
        ("7}", False),
        ('{"symbol":"A","price":1,"ts":1700000000000', False),
    ],
)
def test_one_object_and_nothing_behind_it(spark: SparkSession, line: str, is_good: bool) -> None:
    lines = spark.createDataFrame([(line, 0)], f"{RAW} STRING, _offset BIGINT")
    stream = SourceStream(lines, 1, "json", {**NO_PROVENANCE, "_topic": "''", SEQ: "0L"})
    [row] = RowReader(_read(), stream, Scan.SPARK_JSON).rows(lines, 1_800_000_000_000_000).frame.collect()
    assert (row[FATE] == 0) is is_good, row


@pytest.mark.parametrize(
    ("line", "is_good"),
    [
        ('{"symbol":"\u00e4\ufffd","price":1,"ts":1700000000000}'.encode(), True),
        (b'{"symbol":"\xff","price":1,"ts":1700000000000}', False),
        (b'{"symbol":"A","price":1,"ts":1700000000000,"note":"\xff"}', True),
        (b'{"symbol":"A","price":"\xff","ts":1700000000000}', True),
    ],
)
def test_text_that_is_none(spark: SparkSession, line: bytes, is_good: bool) -> None:
    """It makes a row bad where it would be taken for a value; in a number it is a bad field, and what nobody asks for is not looked at."""
    lines = spark.createDataFrame([(bytearray(line), 0)], f"{RAW} BINARY, _offset BIGINT")
    stream = SourceStream(lines, 1, "json", {**NO_PROVENANCE, "_topic": "''", SEQ: "0L"})
    [row] = RowReader(_read(), stream, Scan.SPARK_JSON).rows(lines, 1_800_000_000_000_000).frame.collect()
    assert (row[FATE] == 0) is is_good, row


ASKED = """
CREATE STREAM s (k STRING, v INT, ts BIGINT, kind STRING, "odd name" INT, a STRUCT<b: INT>, other STRING, more STRING) WITH (
  'connector' = 'files', 'path' = 'x', 'format' = 'json', 'event.time.field' = 'ts');
CREATE STREAM out AS SELECT {select} FROM s GROUP BY k WINDOW TUMBLING(10s){clause} WITH ('connector' = 'memory');
"""


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, ["k", "ts"]),
        ({"clause": " WITH WATERMARK PUNCTUATED(kind = 'end')"}, ["k", "ts", "kind"]),
        ({"select": 'k, SUM("odd name") AS n, SUM(a.b) AS b'}, ["k", "ts", "odd name", "a"]),
        ({"select": "k, COUNT(*) FILTER (WHERE V > 1) AS n"}, ["k", "v", "ts"]),
        ({"select": "k, LAST(v) AS v", "clause": " TRIGGER WHEN kind = 'end'"}, ["k", "v", "ts", "kind"]),
    ],
)
def test_what_is_asked_for(given: dict[str, str], asked: list[str]) -> None:
    sql = ASKED.format(**{"select": "k, COUNT(*) AS n", "clause": "", **given})
    stages = compile_sql(sql, env={}).plan.jobs[0].stages
    [read] = [stage for stage in stages if isinstance(stage, Read)]
    assert _names(read) == asked
