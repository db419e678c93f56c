from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.unit.cli.conftest import Windrow
from windrow.model.fate import Fate
from windrow.spark.dead_letters import DeadLetter, to_table

LATE = DeadLetter(
    Fate.LATE, "trades", "candles", {"symbol": "A", "_partition": 0, "_offset": 7, "_event_time": datetime(2026, 1, 1, tzinfo=UTC)}, 3
)
BROKEN = DeadLetter(Fate.UNDECODABLE, "trades", None, {"_raw_text": '{"symbol', "_partition": 1, "_offset": 2}, 3)


def write_state(folder: Path, *letters: DeadLetter) -> None:
    job = folder / "candles"
    (job / "dead_letters").mkdir(parents=True)
    (job / "job.json").write_text(json.dumps({"job": "candles"}))
    for letter in letters:
        file = job / "dead_letters" / f"batch-{letter.batch_id:010d}-{letter.fate}.parquet"
        pq.write_table(to_table([letter]), file)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    write_state(tmp_path / ".windrow" / "q", LATE, BROKEN)
    return tmp_path / ".windrow" / "q"


@pytest.mark.parametrize("target", ["q.sql", ".windrow/q", ".windrow/q/candles"])
def test_they_are_counted_and_listed(windrow: Windrow, state: Path, target: str) -> None:
    done = windrow("dead-letters", target)
    assert done.exit_code == 0
    assert "2 dead letters of job candles" in done.stdout
    rows = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert "WR701 1 trades the row could not be decoded" in rows
    assert 'WR705 trades 0 7 2026-01-01 00:00:00 {"symbol": "A"}' in rows


def test_programs_get_all_of_it(windrow: Windrow, state: Path) -> None:
    late = next(each for each in json.loads(windrow("dead-letters", "q.sql", "--format", "json").stdout) if each["code"] == "WR705")
    assert (late["job"], late["row"], late["event_time"]) == ("candles", {"symbol": "A"}, "2026-01-01T00:00:00+00:00")


def test_a_limit_holds_for_each_reason_and_says_how_many_are_left(windrow: Windrow, tmp_path: Path) -> None:
    write_state(tmp_path / "s", LATE, replace(LATE, batch_id=4), BROKEN)
    shown = windrow("dead-letters", "s", "--limit", "1").stdout
    assert "... and 1 more" in shown
    assert '{"symbol": "A"}' in shown


def test_a_job_without_any(windrow: Windrow, tmp_path: Path) -> None:
    write_state(tmp_path / "s")
    assert windrow("dead-letters", "q.sql", "--state", "s").stdout == "job candles has no dead letters\n"


def test_no_state_is_an_error(windrow: Windrow) -> None:
    done = windrow("dead-letters", "q.sql")
    assert done.exit_code == 2
    assert "[WR621]" in done.stderr
    assert "windrow run q.sql" in done.stderr


def test_a_torn_file_is_an_error(windrow: Windrow, state: Path) -> None:
    (state / "candles" / "dead_letters" / "batch-0000000009.parquet").write_bytes(b"PAR1 torn")
    done = windrow("dead-letters", "q.sql")
    assert done.exit_code == 1
    assert "[WR814]" in done.stderr
