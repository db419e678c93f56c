"""SHOW, DESCRIBE and EXPLAIN: what they say, and as of when."""

from __future__ import annotations

import pytest

import windrow
from windrow.introspection import Answer

SOURCES = """
-- @owner: market data
CREATE STREAM trades (symbol STRING NOT NULL, price DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts', 'watermark.delay' = '5s');
CREATE TABLE names (symbol STRING, name STRING, PRIMARY KEY (symbol)) WITH ('connector' = 'files', 'path' = 'names');
"""


def asked(sql: str) -> list[Answer]:
    return list(windrow.compile(SOURCES + sql, env={}).answers)


def test_show_lists_what_was_created_before_it() -> None:
    first, second, tables = asked("SHOW STREAMS; CREATE STREAM big AS SELECT symbol FROM trades; SHOW STREAMS LIKE 'B%'; SHOW TABLES")
    assert [row["name"] for row in first.to_dicts()] == ["trades"]
    assert second.to_dicts() == [{"name": "big", "columns": "symbol STRING", "from": "a query over trades"}]
    assert [row["name"] for row in tables.to_dicts()] == ["names"]


def test_what_was_dropped_is_not_shown() -> None:
    before, after, again = asked(
        "CREATE STREAM big AS SELECT symbol FROM trades; SHOW STREAMS; DROP STREAM big; SHOW STREAMS; "
        "CREATE STREAM big AS SELECT price FROM trades; DESCRIBE big"
    )
    assert [[row["name"] for row in answer.to_dicts()] for answer in (before, after)] == [["trades", "big"], ["trades"]]
    assert [row["column"] for row in again.to_dicts()] == ["price"]


def test_a_script_without_streams_says_so() -> None:
    assert [str(answer) for answer in windrow.compile("SHOW STREAMS; SHOW JOBS", env={}).answers] == ["no streams", "no jobs"]


def test_functions_have_a_line_each() -> None:
    (answer,) = asked("SHOW FUNCTIONS LIKE 'tumble_s%'")
    assert [row["kind"] for row in answer.to_dicts()] == ["scalar"]
    assert len(asked("SHOW FUNCTIONS")[0].rows) > 400


def test_jobs() -> None:
    (answer,) = asked("CREATE STREAM big AS SELECT symbol FROM trades; SELECT * FROM big; SHOW JOBS")
    assert answer.to_dicts()[0]["job"] == "big+out"
    assert answer.to_dicts()[0]["writes"] == "out to console"


def test_a_source_is_described_with_its_time_options_and_readers() -> None:
    (answer,) = asked("DESCRIBE Trades; SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(1m)")
    facts = dict(answer.facts)
    assert answer.rows[0] == ("symbol", "STRING", "not null")
    assert facts["@owner"] == "market data"
    assert facts["event time"].startswith("column ts")
    assert facts["watermark"].startswith("5s behind")
    assert facts["options"] == "path = in"
    assert facts["read by"] == "a SELECT"


def test_a_window_is_described_by_its_stage() -> None:
    (answer,) = asked(
        "CREATE STREAM n AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(1m); "
        "CREATE TABLE t AS SELECT symbol PRIMARY KEY, n FROM n; DESCRIBE n"
    )
    assert dict(answer.facts)["window"].startswith("tumbling: 1m long")
    assert dict(answer.facts)["read by"] == "t"


def test_the_key_of_a_table_is_marked() -> None:
    reference, made = asked("CREATE TABLE t AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol; DESCRIBE names; DESCRIBE t")
    assert [tuple(row) for row in reference.rows] == [("symbol", "STRING", "key"), ("name", "STRING", "")]
    assert made.rows[0] == ("symbol", "STRING", "key")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("EXPLAIN SELECT symbol FROM trades WHERE price > 1", "filter    price > 1"),
        ("EXPLAIN CREATE STREAM t (a INT) WITH ('connector' = 'generator')", "read t"),
        ("EXPLAIN CREATE TABLE t AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol", "upsert table t"),
        (
            "CREATE STREAM o (a STRING) WITH ('connector' = 'console'); EXPLAIN INSERT INTO o SELECT symbol FROM trades",
            "write o",
        ),
    ],
)
def test_explain(sql: str, said: str) -> None:
    (answer,) = asked(sql)
    assert said in str(answer)


def test_explain_shows_the_statement_alone_and_runs_nothing() -> None:
    compiled = windrow.compile(SOURCES + "SELECT price FROM trades; EXPLAIN SELECT symbol FROM trades", env={})
    assert str(compiled.answers[0]).count("filter and project") == 1
    assert [job.name for job in compiled.plan] == ["out"]
