from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.unit.cli.conftest import Windrow
from windrow.model.fate import Fate
from windrow.spark.execution.dead_letters import DeadLetter, Lateness, to_table

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
MICROS = int(MIDNIGHT.timestamp()) * 1_000_000
LATE = DeadLetter(
    Fate.LATE,
    "trades",
    "candles",
    {"symbol": "A", "_partition": 0, "_offset": 7, "_event_time": MIDNIGHT},
    3,
    late=Lateness(MICROS + 90_000_000, 30_000_000, MICROS + 60_000_000),
)
BROKEN = DeadLetter(Fate.UNDECODABLE, "trades", None, {"_raw_text": '{"symbol', "_partition": 1, "_offset": 2}, 3)


def write_state(folder: Path, *letters: DeadLetter) -> None:
    job = folder / "candles"
    (job / "dead_letters").mkdir(parents=True)
    (job / "job.json").write_text(json.dumps({"job": "candles"}))
    for batch in {letter.batch_id for letter in letters}:
        own = [letter for letter in letters if letter.batch_id == batch]
        pq.write_table(to_table(own), job / "dead_letters" / f"batch-{batch:010d}.parquet")


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
    assert '3-1 WR705 trades 0 7 2026-01-01 00:00:00 30s {"symbol": "A"}' in rows


def test_programs_get_all_of_it(windrow: Windrow, state: Path) -> None:
    late = next(each for each in json.loads(windrow("dead-letters", "q.sql", "--format", "json").stdout) if each["code"] == "WR705")
    assert (late["job"], late["row"], late["event_time"]) == ("candles", {"symbol": "A"}, "2026-01-01T00:00:00+00:00")
    told = (late["watermark"], late["late_by"], late["window_end"])
    assert told == ("2026-01-01T00:01:30+00:00", 30_000_000, "2026-01-01T00:01:00+00:00")


def test_a_late_one_says_by_how_much(windrow: Windrow, state: Path) -> None:
    shown = [line.split(maxsplit=1) for line in windrow("dead-letters", "show", "q.sql", "3-1").stdout.splitlines()]
    assert ["watermark", "2026-01-01T00:01:30+00:00"] in shown
    assert ["late_by", "30s"] in shown
    assert ["window_end", "2026-01-01T00:01:00+00:00"] in shown
    assert "late_by" not in windrow("dead-letters", "show", "q.sql", "3-0").stdout


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


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], {"WR701", "WR705"}),
        (["--code", "wr701"], {"WR701"}),
        (["--by", "CANDLES"], {"WR705"}),
        (["--by", "trades"], {"WR701", "WR705"}),
        (["--since", "2026-01-02"], {"WR701"}),
        (["--until", "2026-01-02T00:00:00Z"], {"WR705"}),
    ],
)
def test_they_are_filtered(windrow: Windrow, tmp_path: Path, options: list[str], codes: set[str]) -> None:
    early, later = ({"_timestamp": datetime(2026, 1, day, tzinfo=UTC)} for day in (1, 2))
    write_state(tmp_path / "s", replace(LATE, row={**LATE.row, **early}), replace(BROKEN, row={**BROKEN.row, **later}))
    listed = json.loads(windrow("dead-letters", "list", "s", "--format", "json", *options).stdout)
    assert {each["code"] for each in listed} == codes


def test_a_time_that_is_none(windrow: Windrow, state: Path) -> None:
    done = windrow("dead-letters", "list", "q.sql", "--since", "yesterday")
    assert done.exit_code == 2
    assert "[WR618]" in done.stderr


def test_one_is_shown_with_all_that_is_known(windrow: Windrow, tmp_path: Path) -> None:
    row = {**BROKEN.row, "_raw_text": b"\xff{", "_key": "k", "_headers": [("trace", "x")], "_topic": "t"}
    write_state(tmp_path / "s", replace(BROKEN, row=row))
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in windrow("dead-letters", "show", "s", "3-0").stdout.splitlines()}
    assert shown["raw"] == '{"base64": "/3s="}'
    assert (shown["headers"], shown["key"], shown["topic"], shown["attempt"]) == ('{"trace": "x"}', "k", "t", "1")
    missing = windrow("dead-letters", "show", "s", "9-9")
    assert missing.exit_code == 2
    assert "[WR890]" in missing.stderr


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_they_are_exported(windrow: Windrow, state: Path, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"letters.{ending}"
    assert windrow("dead-letters", "export", "q.sql", "--to", str(file), "--code", "WR701").exit_code == 0
    rows = pq.read_table(file).to_pylist() if ending == "parquet" else [json.loads(line) for line in file.read_text().splitlines()]
    raw = b'{"symbol' if ending == "parquet" else '{"symbol'
    assert [(row["job"], row["id"], row["code"], row["raw"]) for row in rows] == [("candles", "3-0", "WR701", raw)]


def test_an_ending_that_is_no_format(windrow: Windrow, state: Path) -> None:
    done = windrow("dead-letters", "export", "q.sql", "--to", "letters.xls")
    assert done.exit_code == 2
    assert "letters.jsonl" in done.stderr
