"""Dead letters repaired by expressions, and what would become of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from windrow.compiler import compile_sql
from windrow.errors import SqlError, UsageError
from windrow.jobs import repairs
from windrow.jobs.repairs import judge_letters, repaired
from windrow.plan.stages import Job

SQL = """
CREATE STREAM orders (id BIGINT NOT NULL, price DOUBLE, CONSTRAINT fair EXPECT (price > 0) ON VIOLATION DEAD_LETTER) WITH (
  'connector' = 'files', 'path' = 'in', 'format' = 'json'
);
CREATE STREAM large (CONSTRAINT sane EXPECT (price < 100) ON VIOLATION DEAD_LETTER) AS SELECT id, price FROM orders
WITH ('connector' = 'files', 'path' = 'out');
"""


@pytest.fixture
def job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(repairs, "make_session", lambda _: spark)
    return compile_sql(SQL).plan.jobs[0]


def letter(identity: str, row: dict[str, Any], raw: str | None = None, statement: str | None = None) -> dict[str, Any]:
    beside = dict.fromkeys(("partition", "offset", "topic", "key", "headers", "arrived_at", "event_time"))
    own = {"id": identity, "code": "WR708", "source": statement or "orders", "statement": statement, "row": json.dumps(row)}
    return {**beside, **own, "raw": None if raw is None else raw.encode()}


def test_repaired_rows_pass_and_the_others_say_why_they_fail(job: Job) -> None:
    letters = [
        letter("0-0", {"id": 1, "price": None}, '{"id": 1, "price": "1,5"}'),
        letter("0-1", {"id": 2, "price": -3.0}),
        letter("0-2", {"id": None, "price": 5.0}, '{"price": 5}'),
        letter("0-3", {"id": 4, "price": 400.0}, statement="large"),
    ]
    assert [each.code for each in judge_letters(job, letters)] == [None, "WR708", "WR702", "WR708"]
    changed = repaired(
        job, letters, "SET price = COALESCE(CAST(REPLACE(_raw:price, ',', '.') AS DOUBLE), price) / 10, id = COALESCE(id, 9)"
    )
    assert [json.loads(each["row"]) for each in changed] == [
        {"id": 1, "price": 0.15},
        {"id": 2, "price": -0.3},
        {"id": 9, "price": 0.5},
        {"id": 4, "price": 40.0},
    ]
    outcomes = judge_letters(job, changed)
    assert [each.code for each in outcomes] == [None, "WR708", None, None]
    assert outcomes[1].why == "the row violates constraint fair: EXPECT (price > 0) ON VIOLATION DEAD_LETTER"


def test_a_repair_is_checked_before_anything_runs(job: Job) -> None:
    letters = [letter("0-0", {"id": 1, "price": -1.0})]
    with pytest.raises(UsageError, match='orders has no column "prize"') as unknown:
        repaired(job, letters, "SET prize = 1")
    assert unknown.value.code == "WR907"
    with pytest.raises(UsageError, match="without aggregates"):
        repaired(job, letters, "SET price = SUM(price)")
    with pytest.raises(SqlError, match='unknown column "prize"'):
        repaired(job, letters, "SET price = prize")
    with pytest.raises(SqlError, match="expected"):
        repaired(job, letters, "SET price 1")
