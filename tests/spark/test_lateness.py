"""What the dead letter of a late row says: the watermark it was judged by, by how much it was late, and the end of its last window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from windrow.compiler import compile_script
from windrow.sql import parse
from windrow.testing.compare import plain
from windrow.testing.engine import DirectEngine

SOURCE = "CREATE STREAM t (k STRING, at BIGINT) WITH ('connector' = 'memory'{});\n"
BY_ROW = ", 'watermark.granularity' = 'row'"
TOLD = ("_watermark", "_late_by", "_late_window_end")


def letters(
    spark: SparkSession, folder: Path, sql: str, times: list[int], *, options: str = "", home: str = "resident", at_once: bool = False
) -> list[tuple[Any, ...]]:
    script = parse(SOURCE.format(options) + sql, "t.sql", {})
    engine = DirectEngine(spark, compile_script(script, bare_sink="memory"), (0,), folder, home)
    rows = [("t", {"k": "a", "at": at, "_ts": at, "_offset": number}) for number, at in enumerate(times)]
    for batch in [rows] if at_once else [[row] for row in rows]:
        engine.feed(batch)
    outcome = engine.finish()
    engine.close()
    assert outcome.ledger.is_balanced
    return [(row["at"], *(row[name] for name in TOLD)) for row in map(plain, outcome.dead_letters)]


WINDOWS = {
    "TUMBLING(10s)": (25_000, 15_000, 10_000),
    "TUMBLING(10s) ALLOWED_LATENESS 5s": (25_000, 10_000, 10_000),
    "SLIDING(10s, 5s)": (25_000, 15_000, 10_000),
    "SESSION(2s) ALLOWED_LATENESS 1s": (25_000, 19_000, 5_000),
    "TUMBLING(10s) EMIT CHANGES": (25_000, 15_000, 10_000),
    "SLIDING(10s, 5s) EMIT CHANGES": (25_000, 15_000, 10_000),
}


@pytest.mark.parametrize(("window", "told"), WINDOWS.items())
def test_of_a_window(spark: SparkSession, tmp_path: Path, window: str, told: tuple[int, ...]) -> None:
    sql = f"SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window};"
    assert letters(spark, tmp_path, sql, [25_000, 3_000]) == [(3_000, *told)]


@pytest.mark.parametrize("window", ["TUMBLING(10s)", "SESSION(2s) ALLOWED_LATENESS 1s"])
def test_of_a_window_that_the_executors_hold(spark: SparkSession, tmp_path: Path, window: str) -> None:
    sql = f"SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window};"
    assert letters(spark, tmp_path, sql, [25_000, 3_000], home="distributed") == [(3_000, *WINDOWS[window])]


@pytest.mark.parametrize("window", ["TUMBLING(10s)", "TUMBLING(10s) ALLOWED_LATENESS 5s", "SESSION(2s) ALLOWED_LATENESS 1s"])
def test_each_row_by_the_watermark_when_it_came(spark: SparkSession, tmp_path: Path, window: str) -> None:
    sql = f"SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window};"
    found = letters(spark, tmp_path, sql, [25_000, 3_000, 26_000, 3_000, 90_000], options=BY_ROW, at_once=True)
    watermark, late_by, end = WINDOWS[window]
    assert found == [(3_000, watermark, late_by, end), (3_000, 26_000, late_by + 1_000, end)]


def test_each_statement_that_shares_a_pass_by_its_own_windows(spark: SparkSession, tmp_path: Path) -> None:
    sql = "".join(
        f"CREATE STREAM w{size} AS SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING({size}s) WITH ('connector' = 'memory');"
        for size in (10, 20)
    )
    assert sorted(letters(spark, tmp_path, sql, [25_000, 3_000])) == [
        (3_000, 25_000, 5_000, 20_000),
        (3_000, 25_000, 15_000, 10_000),
    ]


def test_by_the_delay_of_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(10s);"
    assert letters(spark, tmp_path, sql, [25_000, 3_000], options=", 'watermark.delay' = '4s'") == [(3_000, 21_000, 11_000, 10_000)]
    assert letters(spark, tmp_path / "b", sql, [25_000, 3_000], options=", 'watermark.delay' = '16s'") == []
