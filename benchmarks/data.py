"""Input that both sides read: trades in event-time order up to a few seconds, some of them late."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

ROWS_A_FILE = 500_000
COLUMNS = "symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT"


def write_trades(spark: SparkSession, folder: Path, rows: int, keys: int, format_: str) -> Path:
    """Files of half a million rows each, named and dated in order. Made once and kept for the next run."""
    target = folder / f"trades-{rows}-{keys}-{format_}"
    if (target / "_SUCCESS").exists():
        return target
    frame = spark.range(0, rows, 1, max(1, rows // ROWS_A_FILE)).selectExpr(
        f"concat('S', pmod(xxhash64(id), {keys})) AS symbol",
        "100 + pmod(xxhash64(id, 1), 10000) / 100.0D AS price",
        "1 + pmod(xxhash64(id, 2), 1000) AS volume",
        # A millisecond of event time every ten rows, shuffled by up to two seconds; one row in ten thousand a minute late.
        "1700000000000L + id DIV 10 - pmod(xxhash64(id, 3), 2000) - CASE WHEN pmod(xxhash64(id, 4), 10000) = 0 THEN 90000 ELSE 0 END AS ts",
    )
    getattr(frame.write.mode("overwrite"), format_)(str(target))
    # Files are taken in the order of their times, and Spark's tasks finish in any order.
    for number, path in enumerate(sorted(target.glob("part-*"))):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return target
