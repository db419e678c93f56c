"""kill -9 of a running job at random moments: the counters of its annotations equal a recount of what it has written.

``WINDROW_CHAOS_ROUNDS`` is the number of kills (50 if not set), ``WINDROW_CHAOS_SEED`` repeats a run's moments and rows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.trades import write_trades

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "50"))
FILES = 4 * KILLS + 10
SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
-- @metric: candles
-- @metric_labels: symbol
-- @metric: candle_rows
-- @metric_type: histogram
-- @metric_field: n
-- @metric_buckets: 1, 3
CREATE STREAM candles AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s) ALLOWED_LATENESS 20s
  WITH ('connector' = 'files', 'path' = '{folder}/candles', 'format' = 'json');
-- @metric: dear
-- @metric_condition: price > 95
CREATE STREAM kept AS SELECT symbol, price FROM trades WHERE price > 50
  WITH ('connector' = 'files', 'path' = '{folder}/kept', 'format' = 'json');
"""


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted((folder / name).glob("batch-*.json")) for line in path.read_text().splitlines()]


def _last_commit(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("state/*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


def _kill_somewhere(process: subprocess.Popen[bytes], folder: Path, rng: random.Random) -> bool:
    """Kill the process group a moment after a few more batches. True if it was still running."""
    wanted, deadline = _last_commit(folder) + 1 + rng.randrange(2), time.monotonic() + 300
    while process.poll() is None and _last_commit(folder) < wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    moment = time.monotonic() + rng.uniform(0, 0.8)
    while process.poll() is None and time.monotonic() < moment:
        time.sleep(0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def test_counters_equal_a_recount_after_kills(tmp_path: Path) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.randrange(1_000_000)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    write_trades(tmp_path / "in", FILES, 30, seed)
    sql = tmp_path / "job.sql"
    sql.write_text(SQL.format(folder=tmp_path))
    command = [sys.executable, "-m", "windrow", "run", str(sql), "--until-end", "--state", str(tmp_path / "state")]

    def start(*more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)

    kills = 0
    for _ in range(KILLS * 2):
        if kills == KILLS:
            break
        kills += _kill_somewhere(start("--quiet"), tmp_path, rng)
    shown, _ = start("--json").communicate(timeout=3600)
    assert kills == KILLS
    jobs = json.loads(shown.decode().splitlines()[-1])["jobs"]
    metrics = {name: total for job in jobs for name, total in job["metrics"].items()}
    candles, kept = _rows(tmp_path, "candles"), _rows(tmp_path, "kept")
    by_symbol = Counter(row["symbol"] for row in candles)
    assert {labels[0]: values[0] for labels, values in metrics["candles"]["series"]} == {k: float(n) for k, n in by_symbol.items()}
    counts = [row["n"] for row in candles]
    expected = [sum(counts), len(counts), sum(n <= 1 for n in counts), sum(n <= 3 for n in counts)]
    assert metrics["candle_rows"]["series"] == [[[], [float(number) for number in expected]]]
    assert metrics["dear"]["series"] == [[[], [float(sum(row["price"] > 95 for row in kept))]]]
