"""Queries over windows with Spark: views, parameters, and a query that is cancelled because it takes too long."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.unit.otap.files import at, attribute, log, write
from windrow.jobs.window_queries import SparkQueries, WindowQuery, WindowTables, run_query
from windrow.otap.discovery import Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.layout import Base
from windrow.otap.timing import Timing, Window


def test_a_query_sees_the_rows_of_its_window(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:46:30") + n * 60 * 10**9, n, severity_number=10 * n) for n in range(3)])
    write(tmp_path, "log_attrs", [attribute(n, "host", f"h{n}") for n in range(3)])
    query = WindowQuery(
        "SELECT _part_id, id, attributes['host'] AS host, time_unix_nano - {window_start_ns} AS since FROM logs "
        "WHERE time_unix_nano < {window_end_ns} AND severity_number >= :least",
        {"least": 10},
    )
    base, timing = Base(str(tmp_path)), Timing()
    tables = WindowTables(base, Discovery(base, FooterCache(), timing, TimeRule()), timing, query.tables, "partition_unique")
    results = list(run_query(query, tables, Window(at("13:46"), at("13:50")), SparkQueries(spark, 300)))
    assert [one.rows.to_pylist() for one in results if one.rows is not None] == [
        [],
        [{"_part_id": "A", "id": 1, "host": "h1", "since": 30 * 10**9}],
        [{"_part_id": "A", "id": 2, "host": "h2", "since": 30 * 10**9}],
    ]


def test_a_query_that_takes_too_long_is_cancelled(spark: SparkSession) -> None:
    with pytest.raises(TimeoutError, match="longer than 1 s"):
        SparkQueries(spark, 1)("SELECT COUNT(*) FROM range(1000000000000) WHERE hash(id) = :n", {}, {"n": 1})
    assert SparkQueries(spark, 300)("SELECT 1 AS one", {}, {}).to_pylist() == [{"one": 1}]
