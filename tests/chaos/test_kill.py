"""kill -9 of a running file-to-file job at random moments: the output is that of an undisturbed run, row for row.

State, checkpoint and outputs are on a local disk, or on an HDFS that the test starts. ``WINDROW_CHAOS_ROUNDS`` is the number of kills
(30 if not set), ``WINDROW_CHAOS_SEED`` repeats a run's moments and rows.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.chaos.trades import SQL, STREAMS, chance, last_commit, write_trades
from tests.servers.hdfs import hdfs
from windrow.storage import open_folder

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "30"))
# A kill comes every second batch or so, and the last run must still have some to do.
FILES = 5 * KILLS + 10


class Place:
    """Where a job keeps its state and writes its rows: a folder of its own on some file system."""

    def __init__(self, root: str, work: Path, name: str) -> None:
        self.folder = open_folder(f"{root}/{name}")
        self._work = work
        self._name = name

    def start(self) -> subprocess.Popen[bytes]:
        sql = self._work / f"{self._name}.sql"
        sql.write_text(SQL.format(rows=f"file:{self._work}/in", out=self.folder.path))
        state = f"{self.folder.path}/state"
        command = [sys.executable, "-m", "windrow", "run", str(sql), "--until-end", "--state", state, "--quiet"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def last_commit(self) -> int:
        return last_commit(self.folder.entries)

    def rows(self) -> dict[str, list[str]]:
        return {stream: [line for data in self._files(stream, ".json") for line in data.decode().splitlines()] for stream in STREAMS}

    def dead_letters(self) -> list[dict[str, Any]]:
        files = [data for job in self.folder.entries("state") for data in self._files(f"state/{job}/dead_letters", ".parquet")]
        found = [row for data in files for row in pq.read_table(BytesIO(data)).to_pylist()]
        # When a row arrived is when its batch was first tried, which differs between two runs by nature.
        return sorted(({k: v for k, v in row.items() if k != "arrived_at"} for row in found), key=repr)

    def _files(self, folder: str, ending: str) -> list[bytes]:
        there = self.folder.child(folder)
        return [there.read(name) for name in there.names() if name.startswith("batch-") and name.endswith(ending)]


@pytest.fixture(params=["local", "hdfs"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "local":
        yield str(tmp_path / "there")
        return
    with hdfs(tmp_path / "hdfs") as address:
        yield f"{address}/there"


def _kill_somewhere(process: subprocess.Popen[bytes], place: Place, rng: random.Random) -> bool:
    """Kill the process group once it has done a few more batches, plus a moment. True if it was still running."""
    wanted = place.last_commit() + rng.randrange(3)
    deadline = time.monotonic() + 120
    while process.poll() is None and place.last_commit() < wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    moment = time.monotonic() + rng.uniform(0, 0.8)
    while process.poll() is None and time.monotonic() < moment:
        time.sleep(0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return True


def test_kills_leave_no_trace(tmp_path: Path, root: str) -> None:
    rng = chance()
    write_trades(tmp_path / "in", FILES, 30, rng.randrange(1_000_000))
    whole, killed = Place(root, tmp_path, "undisturbed"), Place(root, tmp_path, "killed")
    undisturbed = whole.start()
    shown, _ = undisturbed.communicate(timeout=3600)
    assert undisturbed.returncode == 0, shown.decode()
    kills = 0
    for _ in range(KILLS * 2):
        if kills == KILLS:
            break
        kills += _kill_somewhere(killed.start(), killed, rng)
    last = killed.start()
    shown, _ = last.communicate(timeout=3600)
    assert last.returncode == 0, shown.decode()
    print(f"{kills} kills")
    assert kills == KILLS
    expected = whole.rows()
    assert all(expected.values())
    assert killed.rows() == expected
    assert killed.dead_letters() == whole.dead_letters()
