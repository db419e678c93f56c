"""By how much rows were late: what the dead letter of one says (the watermark it was judged by, the end of its last window), and what is
counted of those that are dropped or correct a window.
"""

from __future__ import annotations

from collections import Counter
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


def counted(spark: SparkSession, folder: Path, sql: str, batches: list[list[int]], **more: str) -> dict[str, list[dict[int, int]]]:
    """By statement or source: late rows of all batches by how many milliseconds, too late and then as corrections."""
    script = parse(SOURCE.format(more.get("options", "")) + sql, "t.sql", {})
    engine = DirectEngine(spark, compile_script(script, bare_sink="memory"), (0,), folder, more.get("home", "resident"))
    for times in batches:
        engine.feed([("t", {"k": "a", "at": at, "_ts": at}) for at in times])
    assert engine.finish().imbalances == []
    found: dict[str, list[Counter[int]]] = {}
    for record in engine.records:
        for name, own in record.statements.items():
            for counts, by in zip(found.setdefault(name, [Counter(), Counter()]), (own.late_by, own.corrected_by), strict=True):
                counts.update({micros // 1000: rows for micros, rows in by.items()})
    engine.close()
    return {name: [dict(counts) for counts in both] for name, both in found.items() if any(both)}


# Rows of second 3 come after one of second 25, and twice; then one of second 13.
DROPPED = {
    "TUMBLING(10s)": {15_000: 2, 5_000: 1},
    "TUMBLING(10s) ALLOWED_LATENESS 4s": {11_000: 2, 1_000: 1},
    "SLIDING(10s, 5s)": {15_000: 2, 5_000: 1},
    "SESSION(2s)": {20_000: 2, 10_000: 1},
}


@pytest.mark.parametrize("home", ["resident", "distributed"])
@pytest.mark.parametrize(("window", "told"), DROPPED.items())
def test_of_rows_that_are_dropped(spark: SparkSession, tmp_path: Path, window: str, told: dict[int, int], home: str) -> None:
    sql = f"SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window} LATE_DATA_STRATEGY DROP;"
    (found,) = counted(spark, tmp_path, sql, [[25_000], [3_000, 3_000, 13_000, 26_000]], home=home).values()
    assert found == [told, {}]


def test_of_dropped_rows_of_statements_that_share_a_pass(spark: SparkSession, tmp_path: Path) -> None:
    sql = "".join(
        f"CREATE STREAM w{size} AS SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING({size}s) LATE_DATA_STRATEGY DROP "
        "WITH ('connector' = 'memory');"
        for size in (10, 20)
    )
    assert counted(spark, tmp_path, sql, [[25_000], [3_000, 13_000]]) == {"w10": [{15_000: 1, 5_000: 1}, {}], "w20": [{5_000: 2}, {}]}


@pytest.mark.parametrize("home", ["resident", "distributed"])
@pytest.mark.parametrize("window", ["TUMBLING(10s)", "SLIDING(10s, 10s)"])
def test_of_rows_that_correct_a_window(spark: SparkSession, tmp_path: Path, window: str, home: str) -> None:
    sql = f"SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW {window} ALLOWED_LATENESS 20s;"
    (found,) = counted(spark, tmp_path, sql, [[25_000], [3_000, 3_000, 13_000, 26_000]], home=home).values()
    assert found == [{}, {15_000: 2, 5_000: 1}]


def test_of_rows_that_a_source_drops(spark: SparkSession, tmp_path: Path) -> None:
    options = ", 'watermark.late_rows' = 'drop', 'watermark.delay' = '2s'"
    for sql in ("SELECT k FROM t;", "SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(10s);"):
        found = counted(spark, tmp_path / sql[7:10].strip(), sql, [[25_000], [3_000, 22_000, 26_000]], options=options)
        assert found == {"t": [{20_000: 1, 1_000: 1}, {}]}


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
