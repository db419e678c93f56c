"""``windrow state``: what is kept, what is open, and a job that goes back and comes to the same end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
CREATE STREAM candles AS SELECT symbol, _window_start AS s, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


@pytest.fixture(params=["resident", "distributed"])
def folder(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Path:
    """A job that took five files of one trade each, seven seconds apart, and one late trade."""
    (tmp_path / "in").mkdir()
    for number in range(5):
        path = tmp_path / "in" / f"{number}.json"
        path.write_text(json.dumps({"symbol": "A", "price": 1.0, "ts": number * 7000}) + "\n")
        if number == 4:
            path.write_text(path.read_text() + json.dumps({"symbol": "late", "price": 1.0, "ts": 0}) + "\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (tmp_path / "q.sql").write_text(SQL.format(folder=tmp_path))
    (tmp_path / "home").write_text(request.param)
    _run(spark, tmp_path)
    return tmp_path


def _run(spark: SparkSession, folder: Path) -> None:
    settings = {"state.home": (folder / "home").read_text(), "state.snapshot.every": "2", "state.buckets": "2"}
    jobs = windrow.run(
        windrow.compile((folder / "q.sql").read_text(), name="q.sql"), spark=spark, mode="once", state=folder / "state", settings=settings
    )
    assert jobs.await_end(120)


def _ask(folder: Path, command: str, *more: str) -> str:
    result = CliRunner().invoke(app, ["state", command, str(folder / "q.sql"), "--state", str(folder / "state"), *more])
    assert result.exit_code == 0, result.output
    return result.output


def _files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "out").glob("batch-*.json"))}


def test_the_past_is_listed_shown_and_gone_back_to(spark: SparkSession, folder: Path) -> None:
    versions = json.loads(_ask(folder, "list", "--format", "json"))
    assert [version["batch_id"] for version in versions] == [4, 3, 2, 1, 0]
    assert [version["rows_in"] for version in versions] == [6, 4, 3, 2, 1]
    assert "... and 3 older ones" in _ask(folder, "list", "--limit", "2")

    newest, earlier = (json.loads(_ask(folder, "show", "--format", "json", *more))[0] for more in ((), ("--batch", "1")))
    assert [(row["symbol"], row["_window_start"], row["_n"]) for row in newest["open"]] == [("A", 20_000_000, 2)]
    assert [(row["symbol"], row["_window_start"], row["_n"]) for row in earlier["open"]] == [("A", 0, 2)]
    assert "1970-01-01 00:00:20" in _ask(folder, "show")

    before = _files(folder)
    letters = sorted(path.name for path in folder.glob("state/*/dead_letters/*"))
    assert "3 batches will run again" in _ask(folder, "restore", "--to", "1", "--yes")
    assert set(_files(folder)) < set(before)
    assert not list(folder.glob("state/*/dead_letters/*.parquet"))
    _run(spark, folder)
    assert _files(folder) == before
    assert sorted(path.name for path in folder.glob("state/*/dead_letters/*")) == letters


def test_a_batch_that_is_not_kept_is_refused(folder: Path) -> None:
    result = CliRunner().invoke(app, ["state", "restore", str(folder / "q.sql"), "--state", str(folder / "state"), "--to", "9", "--yes"])
    assert result.exit_code == 2
    assert "WR815" in result.output
