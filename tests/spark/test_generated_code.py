"""Spark compiles a query's code once, not once a batch: what differs from batch to batch stays out of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow

SOURCE = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1', 'watermark.late_rows' = '{late_rows}',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
"""
FORMS = {
    "tumbling": "SELECT symbol, COUNT(*) AS n, AVG(price) AS mean FROM trades GROUP BY symbol WINDOW TUMBLING(10s) ALLOWED_LATENESS 20s",
    "sliding": "SELECT symbol, FIRST(price) AS a FROM trades GROUP BY symbol WINDOW SLIDING(10s, 5s) LATE_DATA_STRATEGY INCLUDE_IN_NEXT",
    "session": "SELECT symbol, MAX(price) AS a, COUNT(*) * 2 AS n FROM trades GROUP BY symbol WINDOW SESSION(3s)",
    "joined": "SELECT a.symbol, b.price FROM trades a JOIN trades b WITHIN 1s ON a.symbol = b.symbol",
    "joined inside windows": "SELECT a.symbol, b.price FROM trades a JOIN trades b ON a.symbol = b.symbol WINDOW TUMBLING(10s)",
    "changes": "SELECT symbol, LAST(price) AS a, COUNT(*) + 1 AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s) EMIT CHANGES",
}
BATCHES = 6
# Spark's own code for the last batch is not ours to judge.
MOST = 3


def _compilations(spark: SparkSession) -> int:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount())


def _run(spark: SparkSession, folder: Path, query: str, state: str, late_rows: str) -> int:
    sql = SOURCE.format(folder=folder, late_rows=late_rows)
    sql += f"CREATE STREAM out AS {query} WITH ('connector' = 'files', 'path' = '{folder}/{state}/out', 'format' = 'json');"
    before = _compilations(spark)
    jobs = windrow.run(sql, spark=spark, mode="once", state=folder / state)
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.statements["out"].emitted
    return _compilations(spark) - before


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_reuses_the_code_of_the_one_before(spark: SparkSession, tmp_path: Path, form: str) -> None:
    (tmp_path / "in").mkdir()
    for number in range(BATCHES):
        path = tmp_path / "in" / f"{number}.json"
        rows = [{"symbol": "AB"[i % 2], "price": i + number * 1.0, "ts": 1_700_000_000_000 + number * 7000 + i * 900} for i in range(6)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    late_rows = "drop" if form == "tumbling" else "process"
    first = _run(spark, tmp_path, FORMS[form], "first", late_rows)
    again = _run(spark, tmp_path, FORMS[form], "second", late_rows)
    assert first, "nothing was compiled at all: the count is not read"
    assert again <= MOST, f"{BATCHES} batches compiled {again} times what the first run had compiled already"
