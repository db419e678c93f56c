"""Numbers of the ledger that a case cannot state."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from windrow.compiler import compile_script
from windrow.sql import parse
from windrow.testing.engine import DirectEngine


def test_rows_behind_the_watermark_are_counted_where_a_source_warns(spark: SparkSession, tmp_path: Path) -> None:
    sql = (
        "CREATE STREAM t (v INT) WITH ('connector' = 'memory', 'watermark.late_rows' = 'warn', 'watermark.delay' = '2s');"
        "SELECT COUNT(*) AS n FROM t WINDOW TUMBLING(10s)"
    )
    engine = DirectEngine(spark, compile_script(parse(sql, "t.sql", {}), bare_sink="memory"), (0,), tmp_path, "resident")
    for at in (8000, 7000, 5000, 5999, 6000):
        engine.feed([("t", {"v": 1, "_ts": at})])
    account = engine.finish().ledger.sources["t"]
    assert (account.rows_in, account.passed, account.late_warned) == (5, 5, 2)
    engine.close()


def test_rows_behind_the_watermark_are_dropped_and_counted_where_a_source_says_so(spark: SparkSession, tmp_path: Path) -> None:
    sql = "CREATE STREAM t (v INT) WITH ('connector' = 'memory', 'watermark.late_rows' = 'drop'); SELECT v FROM t"
    engine = DirectEngine(spark, compile_script(parse(sql, "t.sql", {}), bare_sink="memory"), (0,), tmp_path, "resident")
    for at in (8000, 7000, 9000):
        engine.feed([("t", {"v": 1, "_ts": at})])
    account = engine.finish().ledger.sources["t"]
    assert (account.rows_in, account.passed, dict(account.dropped)) == (3, 2, {"WR706": 1})
    engine.close()
