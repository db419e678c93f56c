"""``windrow ask``: the history of a job, from its folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.unit.cli.conftest import Windrow
from tests.unit.cli.recorded import batch, job_of, record_job
from windrow.jobs.closed_windows import WindowKeeper
from windrow.spark.execution.batch import BatchResult
from windrow.spark.query.flow import Flow

BEGIN = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)


def _recorded(folder: Path, emission: str = "early") -> None:
    """Two candles of ACME: one that has closed, and one that is open."""
    place = record_job(folder, [batch(0)])
    keeper = WindowKeeper(cast(SparkSession, None), job_of(), place, 3600, None, 100)
    keeper.open(-1)
    starts = [BEGIN, BEGIN + timedelta(minutes=1)]
    columns = {
        "symbol": ["ACME", "ACME"],
        "high": [10.0, 12.0],
        "_window_start": starts,
        "_window_end": [start + timedelta(minutes=1) for start in starts],
        "_key": ["ACME", "ACME"],
        "_emission": ["final", emission],
        "_revision": [1, 1],
    }
    keeper.write(BatchResult(0, {"candles": Flow(("symbol", "high"), table=pa.table(columns))}))


def test_closed_and_open_windows_are_in_one_table(windrow: Windrow) -> None:
    _recorded(Path())
    done = windrow("ask", "q.sql", "SELECT MAX(high) AS high, COUNT(*) AS n FROM HISTORY OF candles", "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"high": 12.0, "n": 2}
    done = windrow("ask", "q.sql", "SELECT symbol, high FROM HISTORY OF Candles WHERE _emission = 'early'")
    assert "ACME" in done.stdout
    assert "12.0" in done.stdout


def test_what_is_kept(windrow: Windrow) -> None:
    _recorded(Path())
    done = windrow("ask", "q.sql", "--format", "json")
    told = json.loads(done.stdout)
    assert (told["statement"], told["windows"]) == ("candles", 2)
    assert told["bytes"] > 0


def test_without_a_history(windrow: Windrow) -> None:
    record_job(Path(), [batch(0)])
    done = windrow("ask", "q.sql", "SELECT * FROM HISTORY OF candles")
    assert done.exit_code == 2
    assert "[WR655] no history of q.sql is kept" in done.stderr
    assert "--set state.history.seconds=2592000" in done.stderr


def test_a_wrong_question(windrow: Windrow) -> None:
    _recorded(Path())
    done = windrow("ask", "q.sql", "SELECT * FROM HISTORY OF candels")
    assert done.exit_code == 2
    assert "[WR656] no history of candels is kept" in done.stderr
    assert "did you mean candles?" in done.stderr
