"""@metric over real batches: equal to a recount of the output, on the executors and in the driver, and over a restart."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import windrow
from windrow.observe.row_metrics import MetricTotal

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
-- @metric: dear_total
-- @metric_labels: symbol
-- @metric_condition: price > 5
-- @metric: price
-- @metric_type: histogram
-- @metric_field: price
-- @metric_buckets: 2, 5
-- @metric: sampled
-- @metric_sample_rate: 0.5
CREATE STREAM kept AS SELECT Symbol, price FROM trades WHERE price > 0
  WITH ('connector' = 'files', 'path' = '{folder}/kept', 'format' = 'json');
-- @metric: windows
-- @metric_labels: symbol
-- @metric_condition: n > 1
-- @metric: rows_in_windows_total
-- @metric_field: n
-- @metric: newest_count
-- @metric_type: gauge
-- @metric_field: n
CREATE STREAM candles AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/candles', 'format' = 'json');
"""


def _write(folder: Path, number: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    rows = [{"symbol": "AB"[i % 2], "price": i % 11 - 1, "ts": (number * 20 + i) * 1000} for i in range(20)]
    (folder / "in" / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted((folder / name).glob("batch-*.json")) for line in path.read_text().splitlines()]


def _run(spark: SparkSession, folder: Path, mode: Any) -> dict[str, MetricTotal]:
    jobs = windrow.run(SQL.format(folder=folder), spark=spark, mode=mode, state=folder / "state")
    assert jobs.await_end(300)
    return {name: total for status in jobs.status() for name, total in status.metrics.items()}


def test_metrics_equal_a_recount_of_the_output_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        _write(tmp_path, number)
    first = _run(spark, tmp_path, "once")
    assert first["price"].series[()][1] == len(_rows(tmp_path, "kept"))
    _write(tmp_path, 2)
    found = _run(spark, tmp_path, "until_end")
    kept, candles = _rows(tmp_path, "kept"), _rows(tmp_path, "candles")
    prices = [row["price"] for row in kept]
    dear = Counter(row["Symbol"] for row in kept if row["price"] > 5)
    assert found["dear_total"].series == {(symbol,): (float(count),) for symbol, count in dear.items()}
    expected = (sum(prices), len(prices), sum(p <= 2 for p in prices), sum(p <= 5 for p in prices))
    assert found["price"].series == {(): tuple(map(float, expected))}
    assert 0 < found["sampled"].series[()][0] < len(kept)
    full = Counter(row["symbol"] for row in candles if row["n"] > 1)
    assert found["windows"].series == {(symbol,): (float(count),) for symbol, count in full.items()}
    assert found["rows_in_windows_total"].series == {(): (float(sum(row["n"] for row in candles)),)}
    assert found["newest_count"].series == {(): (float(candles[-1]["n"]),)}
