"""State in the driver and on the executors: the same results, a move between batches, and limits that stop in time."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.errors import JobError
from windrow.observe.status import JobStatus

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, COUNT(*) AS n, FIRST(price) AS a, SUM(price) AS total, _emission AS kind, _revision AS rev
  FROM trades GROUP BY symbol WINDOW SLIDING(10s, 5s) ALLOWED_LATENESS 10s
  WITH ('connector' = 'files', 'path' = '{folder}/{name}/candles', 'format' = 'json');
CREATE STREAM totals AS SELECT symbol, COUNT(*) AS n, _revision AS rev FROM trades GROUP BY symbol EMIT CHANGES
  WITH ('connector' = 'files', 'path' = '{folder}/{name}/totals', 'format' = 'json');
"""
FILES = 6


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input, and what a job with all state in the driver makes of it."""
    tmp_path = tmp_path_factory.mktemp("homes")
    rng = random.Random(11)
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        path = tmp_path / "in" / f"{number}.json"
        rows = [
            {"symbol": f"S{rng.randrange(9)}" if rng.random() < 0.9 else None, "price": float(rng.randrange(100)), "ts": _time(number, rng)}
            for _ in range(40)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    _run(spark, tmp_path, "resident", {"state.home": "resident"})
    assert len(_rows(tmp_path, "resident")["candles"]) > 50
    return tmp_path


def _time(number: int, rng: random.Random) -> int:
    late = 60_000 if rng.random() < 0.03 else 8000 if rng.random() < 0.1 else 0
    return 1_700_000_000_000 + number * 7000 + rng.randrange(7000) - late


def _run(spark: SparkSession, folder: Path, name: str, settings: dict[str, str], mode: Any = "until_end") -> JobStatus:
    jobs = windrow.run(SQL.format(folder=folder, name=name), spark=spark, mode=mode, state=folder / name / "state", settings=settings)
    assert jobs.await_end(180)
    status: JobStatus = jobs.status()[0]
    assert status.ledger.is_balanced
    return status


def _rows(folder: Path, name: str) -> dict[str, list[str]]:
    return {
        stream: [line for path in sorted((folder / name / stream).glob("batch-*.json")) for line in path.read_text().splitlines()]
        for stream in ("candles", "totals")
    }


def _has_buckets(folder: Path, name: str) -> bool:
    return any((folder / name / "state").glob("*/buckets/*/*/*"))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("from_the_start", {"state.home": "distributed", "state.buckets": "3"}),
        ("moved_when_it_grew", {"state.resident.max_bytes": "2000", "state.snapshot.every": "2"}),
    ],
)
def test_the_executors_give_what_the_driver_gives(spark: SparkSession, folder: Path, name: str, settings: dict[str, str]) -> None:
    _run(spark, folder, name, settings)
    assert _has_buckets(folder, name)
    assert not _has_buckets(folder, "resident")
    assert _rows(folder, name) == _rows(folder, "resident")


def test_a_job_that_comes_back_may_be_sent_to_the_executors(spark: SparkSession, folder: Path) -> None:
    held_back = [folder / "in" / f"{number}.json" for number in range(3, FILES)]
    for path in held_back:
        path.rename(path.with_suffix(".json.tmp"))
    _run(spark, folder, "sent_later", {"state.home": "resident"}, mode="once")
    for path in held_back:
        path.with_suffix(".json.tmp").rename(path)
    _run(spark, folder, "sent_later", {"state.home": "distributed"})
    assert _rows(folder, "sent_later") == _rows(folder, "resident")


@pytest.mark.parametrize("home", ["resident", "distributed"])
def test_a_limit_stops_the_job_and_loses_nothing(spark: SparkSession, folder: Path, home: str) -> None:
    name = f"limited_{home}"
    with pytest.raises(JobError, match=r"state\.max_groups = 12") as raised:
        _run(spark, folder, name, {"state.home": home, "state.max_groups": "12"})
    assert raised.value.code == "WR807"
    _run(spark, folder, name, {"state.home": home})
    assert _rows(folder, name) == _rows(folder, "resident")


def test_bytes_are_limited_too(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(JobError, match=r"state\.max_bytes = 500"):
        _run(spark, folder, "small", {"state.max_bytes": "500"})
