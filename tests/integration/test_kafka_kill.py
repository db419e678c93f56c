"""A job that writes to Kafka, killed again and again: readers of committed records see every row once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.conftest import Broker
from tests.integration.written import read_topic

ROWS = 2_000
SQL = """
CREATE STREAM made (n BIGINT, k STRING, ts BIGINT) WITH (
  'connector' = 'generator', 'rows' = '{rows}', 'rows.per.second' = 'max', 'rows.per.batch' = '100', 'event.interval' = '10ms',
  'event.time.field' = 'ts', 'fields.n' = 'sequence(0, 1)', 'fields.k' = 'pattern(''k#'')', 'fields.ts' = 'event_time(millis)'
);
CREATE STREAM copied AS SELECT n, k PRIMARY KEY FROM made WITH ('connector' = 'kafka', 'topic' = '{copied}', 'bootstrap.servers' = '{at}');
CREATE STREAM counted AS SELECT COUNT(*) AS n, _window_start AS since FROM made WINDOW TUMBLING(1s)
WITH ('connector' = 'kafka', 'topic' = '{counted}', 'bootstrap.servers' = '{at}');
"""


def last_commit(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("state/*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "windrow", "run", str(folder / "q.sql"), "--until-end", "--state", str(folder / "state"), "--quiet"]
    return subprocess.Popen([*command, "--master", "local[2]"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def kill_at(process: subprocess.Popen[bytes], folder: Path, batch: int, pause: float) -> None:
    deadline = time.monotonic() + 120
    while process.poll() is None and last_commit(folder) < batch and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(pause)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_job_that_is_killed_at_random_moments(broker: Broker, tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    copied, counted = broker.topic(), broker.topic(partitions=1)
    (tmp_path / "q.sql").write_text(SQL.format(rows=ROWS, copied=copied, counted=counted, at=broker.address))
    for _ in range(2):
        process = start(tmp_path)
        kill_at(process, tmp_path, last_commit(tmp_path) + rng.randrange(1, 6), rng.random() * 0.3)
    process = start(tmp_path)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors.decode()
    assert sorted(seen.value["n"] for seen in read_topic(broker.address, copied)) == list(range(ROWS))
    windows = read_topic(broker.address, counted)
    assert sum(seen.value["n"] for seen in windows) == ROWS
    assert len({seen.value["since"] for seen in windows}) == len(windows)
