"""EMIT CHANGES: what the driver runs up is what Spark's windows give, and what cannot be run up is left to them."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.spark.operators import aggregate
from windrow.spark.operators.running_totals import RunningTotals

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume INT, ratio FLOAT, cost DECIMAL(10, 2), ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM out AS SELECT symbol, _window_start AS s, {select}, _revision AS r
  FROM trades WHERE volume IS NULL OR volume <> 3 GROUP BY symbol WINDOW {window} EMIT CHANGES
  WITH ('connector' = 'files', 'path' = '{folder}/{out}', 'format' = 'json');
"""
NUMBERS = (
    "COUNT(*) AS n, COUNT(volume, price) AS both, COUNT_IF(volume > 5) AS many, SUM(price) AS total, SUM(volume) AS volume, "
    "SUM(ratio) AS ratio, AVG(price) AS mean, MIN(price) AS low, MAX(price) AS high, MIN(ratio) AS least, DELTA(volume) AS moved, "
    "SUM(volume) FILTER (WHERE price > 0) AS some"
)


def _rows(folder: Path, sql: str, out: str, spark: SparkSession) -> list[dict[str, object]]:
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / f"state-{out}")
    assert jobs.await_end(120)
    assert jobs.status()[0].ledger.is_balanced
    return [json.loads(line) for path in sorted((folder / out).glob("batch-*.json")) for line in path.read_text().splitlines()]


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were run up, each time."""
    found: list[int] = []
    totals = RunningTotals.totals

    def noting(self: RunningTotals, rows, sources):  # type: ignore[no-untyped-def]
        found.append(rows.num_rows)
        return totals(self, rows, sources)

    monkeypatch.setattr(RunningTotals, "totals", noting)
    return found


def _write(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    (folder / "in").mkdir()
    for number in range(4):
        rows = [
            {
                "symbol": chance.choice("AB"),
                "price": chance.choice([None, math.nan, chance.randrange(-20, 20) / 4]),
                "volume": chance.choice([None, *range(10)]),
                "ratio": chance.randrange(8) / 8,
                "cost": chance.randrange(1000) / 100,
                "ts": 1_700_000_000_000 + number * 10_000 + chance.randrange(12_000),
            }
            for _ in range(60)
        ]
        path = folder / "in" / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.mark.parametrize("window", ["TUMBLING(10s)", "SLIDING(10s, 5s)"])
def test_as_by_windows_of_spark(spark: SparkSession, tmp_path: Path, used: list[int], monkeypatch: pytest.MonkeyPatch, window: str) -> None:
    _write(tmp_path, seed=len(window))
    ours = _rows(tmp_path, SQL.format(folder=tmp_path, select=NUMBERS, window=window, out="ours"), "ours", spark)
    assert len(used) == 4
    monkeypatch.setattr(aggregate, "running_totals", lambda *_: None)
    theirs = _rows(tmp_path, SQL.format(folder=tmp_path, select=NUMBERS, window=window, out="theirs"), "theirs", spark)
    assert len(used) == 4
    assert len(ours) > 200
    assert ours == theirs


@pytest.mark.parametrize(
    "select", ["SUM(cost) AS total", "MAX(symbol) AS most", "COUNT(*) AS n, LAST(price) AS last", "MEDIAN(price) AS mid"]
)
def test_what_does_not_run_up_is_left_to_spark(spark: SparkSession, tmp_path: Path, used: list[int], select: str) -> None:
    _write(tmp_path, seed=1)
    assert _rows(tmp_path, SQL.format(folder=tmp_path, select=select, window="TUMBLING(10s)", out="out"), "out", spark)
    assert used == []
