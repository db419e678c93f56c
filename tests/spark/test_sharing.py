"""Statements that share one pass over their rows give what each gives alone, late rows and ledger included."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.spark.internals.plan_cache import Collected
from windrow.spark.query.runner import LazyRelation, QueryRunner

SOURCE = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
"""
STATEMENTS = {
    "minute": "SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(price) AS total FROM trades WHERE price > 3 GROUP BY symbol "
    "WINDOW TUMBLING(10s)",
    "wide": "SELECT symbol, _window_start AS s, MAX(price) AS high, COUNT(*) AS n FROM trades WHERE price > 3 GROUP BY symbol "
    "WINDOW TUMBLING(30s) LATE_DATA_STRATEGY DROP",
    "sliding": "SELECT symbol, _window_start AS s, AVG(price) AS mean FROM trades WHERE price > 3 GROUP BY symbol WINDOW SLIDING(40s, 20s)",
    "patient": "SELECT symbol, _window_start AS s, FIRST(price) AS a, LAST(price) AS b, _emission AS e FROM trades WHERE price > 3 "
    "GROUP BY symbol WINDOW TUMBLING(20s, OFFSET 10s) ALLOWED_LATENESS 15s",
}
START = 1_700_000_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Batches that go forward by twelve seconds each, with rows up to a minute behind and some that cannot be read."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "in").mkdir()
    random.seed(5)
    for number in range(6):
        rows = []
        for _ in range(40):
            behind = random.choice([0, 0, 0, 1, 3, 9, 14, 25, 60])
            at = START + number * 12_000 + random.randrange(12_000) - behind * 1000
            rows.append(json.dumps({"symbol": random.choice("AB"), "price": random.randrange(100) / 4, "ts": at}))
        rows += ["{broken", json.dumps({"symbol": "A", "price": 1.0, "ts": None})]
        path = folder / "in" / f"{number}.json"
        path.write_text("".join(row + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def _run(spark: SparkSession, folder: Path, name: str, statements: dict[str, str], settings: dict[str, str]) -> dict[str, Any]:
    sql = SOURCE.format(folder=folder)
    for statement, text in statements.items():
        sql += (
            f"CREATE STREAM {statement} AS {text} WITH ('connector' = 'files', 'path' = '{folder}/{name}/{statement}', 'format' = 'json');"
        )
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / name / "state", settings=settings)
    assert jobs.await_end(240)
    ledger = jobs.status()[0].ledger
    assert ledger.is_balanced
    found: dict[str, Any] = {"source": ledger.sources["trades"].to_json()}
    for statement in statements:
        files = sorted((folder / name / statement).glob("batch-*.json"))
        rows = sorted(line for path in files for line in path.read_text().splitlines())
        found[statement] = (rows, ledger.statements[statement].to_json())
    return found


def test_together_as_alone(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    partials = QueryRunner.partials

    def noting(
        self: QueryRunner, rows: LazyRelation, sql: Callable[[str], str], *, is_strict: bool = False, unmerged_upto: int = 0
    ) -> Collected:
        asked.append(sql("rows"))
        return partials(self, rows, sql, is_strict=is_strict, unmerged_upto=unmerged_upto)

    monkeypatch.setattr(QueryRunner, "partials", noting)
    together = _run(spark, folder, "together", STATEMENTS, {})
    # The first batch has a broken row, so that it is read by its text after a try without.
    assert len(asked) == 1 + 6, "one pass a batch, whatever the number of statements"
    for name, text in STATEMENTS.items():
        alone = _run(spark, folder, name, {name: text}, {})
        assert together[name] == alone[name]
        assert together["source"] == alone["source"]
        assert together[name][0]


def test_state_on_the_executors_is_fed_alone(spark: SparkSession, folder: Path) -> None:
    texts = {name: STATEMENTS[name] for name in ("minute", "wide")}
    here = _run(spark, folder, "here", texts, {})
    there = _run(spark, folder, "there", texts, {"state.home": "distributed", "state.buckets": "2"})
    assert here == there
