"""A job that may evict makes room among closed windows, and nothing disappears by that."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.errors import JobError
from windrow.observe.status import JobStatus

SQL = """
CREATE STREAM trades (symbol STRING, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '0s');
CREATE STREAM out AS SELECT symbol, _window_start AS s, COUNT(*) AS n, _emission AS e FROM trades
  GROUP BY symbol WINDOW {window} ALLOWED_LATENESS 120s{emit}
  WITH ('connector' = 'files', 'path' = '{folder}/{name}/out', 'format' = 'json');
"""
START = 1_700_000_000_000
WINDOWS = {"slices": ("TUMBLING(10s)", ""), "sliding": ("SLIDING(20s, 10s)", ""), "panes": ("TUMBLING(10s)", " EMIT CHANGES PER BATCH")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve windows of two groups, one after the other; then a row for the first window, and one for the eleventh."""
    folder = tmp_path_factory.mktemp("evicting")
    (folder / "in").mkdir()
    batches = [[(symbol, number * 10_000 + 1) for symbol in "AB"] for number in range(12)]
    batches.append([("A", 5), ("A", 100_005)])
    for number, rows in enumerate(batches):
        path = folder / "in" / f"{number:02d}.json"
        path.write_text("".join(json.dumps({"symbol": symbol, "ts": START + at}) + "\n" for symbol, at in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def _run(spark: SparkSession, folder: Path, name: str, kind: str, settings: dict[str, str]) -> JobStatus:
    window, emit = WINDOWS[kind]
    sql = SQL.format(folder=folder, name=name, window=window, emit=emit)
    jobs = windrow.run(sql, spark=spark, mode="once", state=folder / name / "state", settings=settings)
    assert jobs.await_end(240)
    status = jobs.status()[0]
    assert status.ledger.is_balanced
    return status


def _said(folder: Path, name: str) -> list[tuple[str, int, int, str]]:
    files = sorted((folder / name / "out").glob("batch-*.json"))
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return [(row["symbol"], row["s"], row["n"], row["e"]) for row in rows]


@pytest.mark.parametrize("kind", WINDOWS)
def test_rows_for_a_window_that_was_let_go_are_late(spark: SparkSession, folder: Path, kind: str) -> None:
    unlimited = _run(spark, folder, f"{kind}-all", kind, {})
    evicting = _run(spark, folder, f"{kind}-evicting", kind, {"state.max_groups": "12", "state.on_limit": "evict"})
    assert not unlimited.ledger.statements["out"].dead
    assert evicting.ledger.statements["out"].dead == {"WR705": 1}
    everything, kept = _said(folder, f"{kind}-all"), _said(folder, f"{kind}-evicting")
    # What corrects the first window, and nothing else, is missing; a younger one is corrected as ever.
    first = min(row[1] for row in everything)
    missing = [row for row in everything if row not in kept]
    assert missing
    assert all(row[3] == "late" for row in missing)
    assert [row for row in kept if row[3] == "late"], "the eleventh window is still there"
    assert not [row for row in kept if row[3] == "late" and row[1] == first]
    assert [row for row in everything if row not in missing] == kept


def test_the_state_that_was_evicted_is_found_again(spark: SparkSession, folder: Path) -> None:
    late = folder / "in" / "12.json"
    late.rename(late.with_suffix(".json.tmp"))
    limits = {"state.max_groups": "12", "state.on_limit": "evict"}
    _run(spark, folder, "twice", "slices", limits)
    late.with_suffix(".json.tmp").rename(late)
    assert _run(spark, folder, "twice", "slices", limits).ledger.statements["out"].dead == {"WR705": 1}
    _run(spark, folder, "once", "slices", limits)
    assert _said(folder, "twice") == _said(folder, "once")


def test_what_cannot_be_evicted_stops_the_job(spark: SparkSession, folder: Path) -> None:
    with pytest.raises(JobError, match=r"state\.max_groups = 1\b"):
        _run(spark, folder, "beyond", "slices", {"state.max_groups": "1", "state.on_limit": "evict"})
