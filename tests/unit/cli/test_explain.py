from __future__ import annotations

import json
from pathlib import Path

from tests.unit.cli.conftest import Windrow

SQL = "CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SELECT a FROM t WHERE a > 1"


def test_the_three_shapes(windrow: Windrow) -> None:
    Path("q.sql").write_text(SQL)
    assert windrow("explain", "q.sql").stdout.startswith("job q\n   why: one statement over t\n└─ read t\n")
    assert json.loads(windrow("explain", "q.sql", "--format", "json").stdout)["jobs"][0]["name"] == "q"
    assert windrow("explain", "q.sql", "--format", "mermaid").stdout.startswith("flowchart TD\n")


def test_wrong_sql_is_shown_on_standard_error(windrow: Windrow) -> None:
    done = windrow("explain", "-", stdin="SELECT b FROM t")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("<stdin>:\n[WR210]")


def test_run_answers_questions_without_spark(windrow: Windrow) -> None:
    done = windrow("run", "-", stdin="CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SHOW STREAMS; DESCRIBE t")
    assert done.exit_code == 0
    assert done.stdout.startswith("name  columns  from\nt     a INT    generator\n\nstream t, from generator\n")


def test_check_and_explain_accept_questions(windrow: Windrow) -> None:
    sql = "CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SHOW STREAMS; EXPLAIN SELECT a FROM t; SELECT a FROM t"
    assert windrow("check", "-", stdin=sql).stdout == "<stdin>: 4 statements, 1 job\n"
    assert windrow("explain", "-", stdin=sql).stdout.startswith("job out\n")


def test_strategies_are_those_of_a_run_with_the_same_settings(windrow: Windrow) -> None:
    source = "CREATE STREAM t (a INT, ts BIGINT) WITH ('connector' = 'files', 'path' = 'in', 'format' = 'json', 'event.time.field' = 'ts')"
    Path("q.sql").write_text(f"{source}; SELECT SUM(a) AS n FROM t WINDOW TUMBLING(1m)")

    def told(*options: str) -> str:
        return windrow("explain", "q.sql", *options).stdout

    assert "scan: JSON files" in told()
    assert "scan: JSON text" in told("--set", "engine.fast_paths=off")
    assert "state: on the executors, in buckets" in told("--set", "state.home=distributed", "--set", "state.buckets=3")
    assert "the executors cannot reach the state folder" in told("--state", "gs://name/state")
    refused = windrow("explain", "q.sql", "--set", "state.homes=resident")
    assert refused.exit_code == 2
    assert "[WR616]" in refused.stderr
