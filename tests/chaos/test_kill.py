"""kill -9 of a running file-to-file job, thirty times at random moments: the output is that of an undisturbed run, row for row."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.chaos.trades import write_trades

pytestmark = pytest.mark.chaos

KILLS = 30
FILES = 160
SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close,
         COUNT(*) AS n, _emission AS kind, _revision AS rev
  FROM trades WHERE price > 2 GROUP BY symbol WINDOW TUMBLING(10s) ALLOWED_LATENESS 20s
  WITH ('connector' = 'files', 'path' = '{out}/candles', 'format' = 'json');
CREATE STREAM running AS
  SELECT symbol, COUNT(*) AS n, SUM(price) AS total, _revision AS rev FROM trades GROUP BY symbol EMIT CHANGES PER BATCH
  WITH ('connector' = 'files', 'path' = '{out}/running', 'format' = 'json');
CREATE STREAM dear AS SELECT symbol, price FROM trades WHERE price > 95
  WITH ('connector' = 'files', 'path' = '{out}/dear', 'format' = 'json');
"""


def _start(folder: Path, name: str) -> subprocess.Popen[bytes]:
    sql = folder / f"{name}.sql"
    sql.write_text(SQL.format(folder=folder, out=folder / name))
    command = [sys.executable, "-m", "windrow", "run", str(sql), "--until-end", "--state", str(folder / name / "state"), "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def _last_commit(folder: Path) -> int:
    """Spark keeps only the newest commits, so their number says nothing: the greatest does."""
    return max((int(path.name) for path in folder.glob("state/*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


def _kill_somewhere(process: subprocess.Popen[bytes], folder: Path, rng: random.Random) -> bool:
    """Kill the process group once it has done a few more batches, plus a moment. True if it was still running."""
    wanted = _last_commit(folder) + rng.randrange(3)
    deadline = time.monotonic() + 60
    while process.poll() is None and _last_commit(folder) < wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    moment = time.monotonic() + rng.uniform(0, 0.8)
    while process.poll() is None and time.monotonic() < moment:
        time.sleep(0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def _rows(folder: Path) -> dict[str, list[str]]:
    return {
        stream: [line for path in sorted((folder / stream).glob("batch-*.json")) for line in path.read_text().splitlines()]
        for stream in ("candles", "running", "dear")
    }


def _dead_letters(folder: Path) -> list[dict[str, Any]]:
    found = [row for path in sorted(folder.glob("state/*/dead_letters/*.parquet")) for row in pq.read_table(path).to_pylist()]
    # When a row arrived is when its batch was first tried, which differs between two runs by nature.
    return sorted(({k: v for k, v in row.items() if k != "arrived_at"} for row in found), key=repr)


def test_thirty_kills_leave_no_trace(tmp_path: Path) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    write_trades(tmp_path / "in", FILES, 30, seed)
    undisturbed = _start(tmp_path, "undisturbed")
    shown, _ = undisturbed.communicate(timeout=600)
    assert undisturbed.returncode == 0, shown.decode()
    kills = 0
    for _ in range(KILLS * 2):
        if kills == KILLS:
            break
        kills += _kill_somewhere(_start(tmp_path, "killed"), tmp_path / "killed", rng)
    last = _start(tmp_path, "killed")
    shown, _ = last.communicate(timeout=600)
    assert last.returncode == 0, shown.decode()
    print(f"{kills} kills")
    assert kills == KILLS
    assert _rows(tmp_path / "killed") == _rows(tmp_path / "undisturbed")
    assert _dead_letters(tmp_path / "killed") == _dead_letters(tmp_path / "undisturbed")
