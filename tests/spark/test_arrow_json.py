"""Rows that Arrow decodes are what Spark's parser makes of them; all others are left to Spark."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession

import windrow
from windrow.compiler import compile_sql
from windrow.connectors.runtime import NO_PROVENANCE, RAW, SEQ, SourceStream
from windrow.jobs.letters import read_letters
from windrow.plan.physical.facts import SourceFacts
from windrow.plan.physical.scans import decoding_choice
from windrow.plan.physical.strategies import Scan
from windrow.plan.stages import Read
from windrow.spark.scan.arrow_json import decode_rows, decoder_of
from windrow.spark.scan.row_reader import RowReader

NOTE = "_note"
TYPES = {
    "a": "BIGINT",
    "i": "INT",
    "m": "SMALLINT",
    "y": "TINYINT",
    "b": "STRING",
    "d": "DOUBLE",
    "f": "BOOLEAN",
    "t": "TIMESTAMP",
    "odd `name": "STRING",
}
STRUCT = pa.struct([("a", pa.int64()), ("b", pa.string()), (NOTE, pa.string())])
VALUES = [
    *("0", "-0", "1", "01", "-7", "1.0", "1e2", "1E+2", "127", "128", "-129", "32768", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "1e400", "-1e-400", "0.1", "-0.0", "123456789012345678901234567890", "2.2250738585072011e-308"),
    *(
        "1.7976931348623157e308",
        "9007199254740993",
        ".5",
        "5.",
        "+5",
        "NaN",
        "-NaN",
        "Infinity",
        "Inf",
        "-Inf",
        "-Infinity",
        "INF",
        "true",
        "false",
    ),
    *(
        "null",
        "tru",
        "[]",
        "[1]",
        "{}",
        '{"a":1}',
        '""',
        '"x"',
        '"1"',
        '"1.5"',
        '"true"',
        '"NaN"',
        '"a}"',
        '"{"',
        '"a\\nb"',
        '"\\u0000"',
        '"\\ud800"',
    ),
    *(
        '"\\ud83d\\ude00"',
        '"\\x"',
        '"\\/"',
        '"\u00e4\ufffd"',
        '"\x7f"',
        '"\t"',
        '"\x00"',
        "'x'",
        '"Info: Inf"',
        '", Inf"',
        "1 //",
        "/* */ 1",
    ),
    *(f'"{text}"' for text in ("2026-01-02", "2026-1-2", "2026-01", "2026", "2026-01-02 10", "2026-01-02 10:11", "2026-01-02T10:11:12")),
    *(
        f'"2026-01-02T10:11:12{text}"'
        for text in ("Z", ".5Z", ".123456Z", ".1234567Z", "+02:00", "+0200", "+02", " UTC", "[UTC]", "z", "+19:00")
    ),
    *('"2026-01-02T10Z"', '"2026-01-02T10:11Z"', '"2026-01-02T24:00:00Z"', '"2026-01-02T10:11:60Z"', '"2026-02-30"', '" 2026-01-02"'),
    *('"1500-01-01T00:00:00Z"', '"0001-01-01"', '"0000-01-01"', '"9999-12-31T23:59:59.999999Z"', '"10000-01-01"', '"-0001-01-01"'),
]
TEXTS = [
    *(
        "",
        "{}",
        "{ }",
        " {}",
        "{} ",
        "{}\t",
        "[]",
        "7}",
        "{",
        "}",
        "{}}",
        "{}{}",
        "{} {}",
        "{},{}",
        '{"a":1',
        '{"a":1,}',
        "{a:1}",
        '{"a" 1}',
    ),
    *(
        '{"a":1,"a":2}',
        '{"z":1,"z":2}',
        '{"A":5}',
        '{"\\u0061":5}',
        '{"z":{"a":1},"a":3}',
        '{"a":1}\x00{"a":2}',
        '{\n"a":\n1}',
        '{"a":1}\n{"a":2}',
    ),
    *(
        '{"z":[[[{"a":{}}]]],"b":"x"}',
        '{"odd `name":"o"}',
        '{"":1}',
        '\ufeff{"a":1}',
        '{"a":1}//',
        '{"z":tru}',
        '{"z":Inf}',
        '{"z":NaN}',
        '{"z":-NaN}',
    ),
]


def _in_sql(column: str) -> str:
    """Times as numbers: Python knows fewer years than Spark."""
    others = ", ".join(f"{column}.`{name.replace('`', '``')}`" for name in TYPES if name != "t")
    return f"CASE WHEN {column} IS NOT NULL THEN struct({others}, unix_micros({column}.t) AS t, {column}.{NOTE}) END AS {column}"


def _decoded(spark: SparkSession, texts: list[str | None]) -> list[tuple[Row | None, Row | None]]:
    """By Arrow and by Spark's own parser."""
    name = decoder_of(spark, TYPES, NOTE)
    fields = ", ".join(f"`{name.replace('`', '``')}` {type_}" for name, type_ in {**TYPES, NOTE: "STRING"}.items())
    parsed = f"from_json(text, 'STRUCT<{fields}>', map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{NOTE}'))"
    rows = spark.createDataFrame([(n, text) for n, text in enumerate(texts)], "n INT, text STRING").coalesce(1)
    both = rows.selectExpr("n", f"{name}(text) AS ours", f"{parsed} AS theirs").selectExpr("n", _in_sql("ours"), _in_sql("theirs"))
    return [(row.ours, row.theirs) for row in sorted(both.collect())]


def _is_one_object(text: str | None) -> bool:
    """By a third parser. Two of the same name, which it takes, the others may take or not."""

    def refuse(_text: str) -> Any:
        raise ValueError

    try:
        return text is not None and isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


def _compare(spark: SparkSession, texts: list[str | None]) -> int:
    """How many rows Arrow took."""
    taken = 0
    for text, (ours, theirs) in zip(texts, _decoded(spark, texts), strict=True):
        if ours is not None:
            taken += 1
            assert repr(ours) == repr(theirs), text
            assert _is_one_object(text), text
    return taken


def test_each_value_in_each_column(spark: SparkSession) -> None:
    odd: list[str | None] = [f'{{"{column}":{value},"z":{value}}}' for column in TYPES for value in VALUES]
    # So far apart that a share of rows has one of them.
    texts = [part for text in [*odd, *TEXTS, None] for part in [text, *['{"a":1,"b":"x"}'] * 300]]
    assert _compare(spark, texts) > len(texts) / 2


def test_each_value_by_itself() -> None:
    """What is taken and what is left to Spark, without Spark."""

    def taken(text: str) -> bool:
        return bool(decode_rows(pa.array([text]), STRUCT)[0].is_valid)

    assert all(map(taken, ['{"a":1,"b":"x"}', "{}", '{"z":{"a":"x"}}', '{"b":"Info"}', '{\n"a":\n1}']))
    assert not any(map(taken, ['{"a":"1"}', '{"a":1.0}', '{"b":1}', " {}", "{}{}", '{"a":1,"a":2}', '{"z":Inf}', "7", ""]))


def test_rows_made_at_random(spark: SparkSession) -> None:
    seed = int(os.environ.get("WINDROW_SEED", str(random.randrange(1 << 30))))
    print("seed", seed)
    chance = random.Random(seed)
    pieces = ["{", "}", '"', ",", ":", "\n", " ", "[", "]", "\\", *VALUES, *(f'"{name}"' for name in TYPES)]

    def text() -> str | None:
        fields = [f'"{chance.choice([*TYPES, "z", "zz"])}":{chance.choice(VALUES)}' for _ in range(chance.randrange(4))]
        whole = "{" + ",".join(fields) + "}"
        if chance.random() < 0.3:
            place = chance.randrange(len(whole) + 1)
            whole = whole[:place] + chance.choice(pieces) + whole[place + chance.randrange(3) :]
        return None if chance.random() < 0.01 else whole

    _compare(spark, [text() if chance.random() < 0.02 else '{"a":1,"b":"x","t":"2026-01-02T10:11:12Z"}' for _ in range(40_000)])


def test_texts_keep_their_places() -> None:
    texts = [f'{{"a":{n}}}' if n % 7 else "no object" for n in range(1000)]
    texts[500] = '{"a":"no number"}'
    found = decode_rows(pa.array(texts), STRUCT).to_pylist()
    for n, row in enumerate(found):
        assert row is None or (n % 7 and row["a"] == n)
    left = [n for n, row in enumerate(found) if row is None and n % 7]
    assert 500 in left
    assert len(left) <= 128


@pytest.mark.parametrize("columns", ["a FLOAT", "a BIGINT, b ARRAY<STRING>"])
def test_types_that_the_two_might_read_differently_are_left_to_spark(columns: str) -> None:
    options = "'connector' = 'files', 'path' = 'in', 'format' = 'json'"
    [job] = windrow.compile(f"CREATE STREAM t ({columns}) WITH ({options}); SELECT * FROM t;").plan.jobs
    [read] = job.reads
    assert decoding_choice(read, SourceFacts("json")).strategy is Scan.SPARK_JSON


SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
CREATE STREAM sums AS SELECT symbol, SUM(price) AS total FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def test_a_row_is_told_from_which_file_it_came_though_many_are_read_by_one_task(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(20):
        rows = ['{"symbol":"A","price":1,"ts":1700000000000}'] * 300 + [f'{{"symbol":"A","price":1,"no time":{number}}}']
        (tmp_path / "in" / f"{number:02}.json").write_text("\n".join(rows) + "\n")
    jobs = windrow.run(SQL.format(folder=tmp_path), spark=spark, mode="once", state=tmp_path / "state")
    assert jobs.await_end(120)
    [letters] = read_letters(tmp_path / "state")
    came = {json.loads(letter["raw"])["no time"]: Path(letter["topic"]).name for letter in letters.records}
    assert came == {number: f"{number:02}.json" for number in range(20)}


@pytest.mark.parametrize(
    "asked", ["SELECT * FROM {rows} WHERE price > 1 AND symbol = 'A'", "SELECT sum(price) FROM {rows} WHERE _fate = 0 GROUP BY symbol"]
)
def test_a_row_is_decoded_once_whatever_is_asked_of_it(spark: SparkSession, asked: str) -> None:
    stages = compile_sql(SQL.format(folder="x"), env={}).plan.jobs[0].stages
    read = next(stage for stage in stages if isinstance(stage, Read))
    lines = spark.createDataFrame([('{"symbol":"A","price":2,"ts":1700000000000}', 0)], f"{RAW} STRING, _offset BIGINT")
    stream = SourceStream(lines, 1, "json", {**NO_PROVENANCE, "_topic": "''", SEQ: "0L"})
    rows = RowReader(read, stream, Scan.ARROW_JSON).rows(lines, 1_800_000_000_000_000).frame
    plan = spark.sql(asked, rows=rows)._jdf.queryExecution().sparkPlan()
    operators = []
    while plan is not None:
        operators.append(plan.getClass().getSimpleName())
        plan = None if plan.children().isEmpty() else plan.children().head()
    assert operators.count("ArrowEvalPythonExec") == 1, operators
