"""kill -9 of a job that reads OTAP windows, at random moments, while files arrive: every log once in its window, or in the late list.

``WINDROW_CHAOS_SEED`` repeats a run's moments and rows.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.generate.writing import MadeFile
from windrow.otap.notes import Notes

pytestmark = pytest.mark.chaos

KILLS = 6
SQL = """
CREATE STREAM logs WITH ('connector' = 'otap', 'path' = '{folder}/data', 'table' = 'logs', 'window.granularity' = '10s');
CREATE STREAM seen AS
  SELECT time_unix_nano, _part_id AS part, COUNT(*) AS n FROM logs GROUP BY time_unix_nano, _part_id WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _start(folder: Path) -> subprocess.Popen[bytes]:
    sql = folder / "job.sql"
    sql.write_text(SQL.format(folder=folder))
    command = [sys.executable, "-m", "windrow", "run", str(sql), "--once", "--state", str(folder / "state"), "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def _plans(folder: Path) -> int:
    return len(list((folder / "state").glob("*/notes/logs/plans/*.json")))


def _kill_somewhere(process: subprocess.Popen[bytes], folder: Path, rng: random.Random) -> bool:
    """Once it has planned another window, plus a moment. False where it had come to its end by then."""
    wanted, deadline = _plans(folder) + 1 + rng.randrange(2), time.monotonic() + 600
    while process.poll() is None and _plans(folder) < wanted and time.monotonic() < deadline:
        time.sleep(0.01)
    moment = time.monotonic() + rng.uniform(0, 1.5)
    while process.poll() is None and time.monotonic() < moment:
        time.sleep(0.01)
    is_alive = process.poll() is None
    if is_alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return is_alive


def _arrive(files: list[MadeFile], folder: Path) -> None:
    for file in files:
        target = folder / "data" / file.path.relative_to(folder / "staged")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file.path, target)


def _logs(folder: Path) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    for path in (folder / "data" / "logs").rglob("*.parquet"):
        part = path.parent.name.partition("=")[2]
        found.update((part, time) for time in pq.ParquetFile(path).read(columns=["time_unix_nano"])[0].cast(pa.int64()).to_pylist())
    return found


def test_killed_while_files_arrive(tmp_path: Path) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    rng = random.Random(seed)
    made = Telemetry(seed=seed, signals=("logs",), length=240 * SECOND, rows_per_second=5, drift=5 * SECOND, file_length=20 * SECOND)
    files = generate(replace(made, late_files=0), tmp_path / "staged")
    # The machine's clock is long past all of it, so a file that arrives after its windows were read is late: two of them are for certain.
    first, others = files[: len(files) // 2], files[len(files) // 2 :]
    held = rng.sample([file for file in first if file.table == "logs"][2:6], 2)
    first = [file for file in first if file not in held]
    rng.shuffle(others)
    _arrive(first, tmp_path)
    kills = 0
    while kills < KILLS:
        process = _start(tmp_path)
        _arrive([others.pop() for _ in range(min(3, len(others)))], tmp_path)
        assert _kill_somewhere(process, tmp_path, rng), f"it came to its end after {kills} kills"
        kills += 1
    _arrive([*others, *held], tmp_path)
    for _ in range(2):
        process = _start(tmp_path)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, output.decode()
    rows = [json.loads(line) for path in (tmp_path / "out").glob("batch-*.json") for line in path.read_text().splitlines()]
    handed: Counter[tuple[str, int]] = Counter()
    for row in rows:
        handed[row["part"], row["time_unix_nano"]] += row["n"]
    expected = _logs(tmp_path)
    assert handed <= expected
    late = Notes(next((tmp_path / "state").glob("*/notes/logs"))).late()
    missing = Counter(at // (10 * SECOND) * 10 * SECOND for _, at in (expected - handed).elements())
    listed: Counter[int] = Counter()
    for one in late:
        listed[one.window.start] += one.rows
    assert missing == listed
    print(f"{kills} kills, {sum(handed.values()):,} logs handed over, {sum(listed.values()):,} listed as late")
