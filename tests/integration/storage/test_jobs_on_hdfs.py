"""Jobs whose state is on a real HDFS: named by its address, or because a cluster's default file system is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.storage.conftest import Store
from windrow.storage import Folder

# Each starts several jobs and JVMs: minutes. `make storage` runs them.
pytestmark = pytest.mark.slow

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{out}', 'format' = 'json');
"""


def _windrow(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "windrow", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _write(folder: Path, number: int, rows: list[dict[str, Any] | str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / f"{number}.json"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _some(folder: Path) -> None:
    _write(folder, 0, [{"symbol": "A", "price": 1.0, "ts": 1_000}, "{broken"])
    _write(folder, 1, [{"symbol": "A", "price": 2.0, "ts": 2_000}, {"symbol": "B", "price": 3.0, "ts": 15_000}])


def _rows(out: Folder) -> list[tuple[str, int]]:
    lines = [line for name in out.names() if name.startswith("batch-") for line in out.read(name).decode().splitlines()]
    return sorted((row["symbol"], row["n"]) for row in map(json.loads, lines))


def test_state_and_dead_letters_are_shown_of_a_job_that_ran_there(hdfs_store: Store, tmp_path: Path) -> None:
    _some(tmp_path)
    there = hdfs_store.folder()
    sql = tmp_path / "job.sql"
    sql.write_text(SQL.format(folder=f"file:{tmp_path}", out=f"{there.path}/out"))
    state = f"{there.path}/state"
    _windrow("run", str(sql), "--once", "--quiet", "--state", state)
    versions = json.loads(_windrow("state", "list", str(sql), "--state", state, "--format", "json"))
    assert [version["batch_id"] for version in versions] == [1, 0]
    assert all(version["can_restore"] for version in versions)
    letters = json.loads(_windrow("dead-letters", "list", str(sql), "--state", state, "--format", "json"))
    assert [letter["raw"] for letter in letters] == ["{broken"]
    assert json.loads(_windrow("dead-letters", "list", state, "--format", "json")) == letters
    _windrow("state", "restore", str(sql), "--to", "0", "--yes", "--state", state)
    _windrow("run", str(sql), "--until-end", "--quiet", "--state", state)
    assert _rows(there.child("out")) == [("A", 2), ("B", 1)]


def test_a_path_without_a_scheme_is_where_spark_puts_it(hdfs_store: Store, tmp_path: Path) -> None:
    """A cluster whose default file system is HDFS: state, checkpoint and output of one job are all there, and are found there."""
    config = tmp_path / "conf"
    config.mkdir()
    default = f"<configuration><property><name>fs.defaultFS</name><value>{hdfs_store.root}</value></property></configuration>"
    (config / "core-site.xml").write_text(default)
    _some(tmp_path)
    there = hdfs_store.folder()
    plain = there.path.removeprefix(hdfs_store.root)
    sql = tmp_path / "job.sql"
    sql.write_text(SQL.format(folder=f"file:{tmp_path}", out=f"{plain}/out"))
    _windrow("run", str(sql), "--once", "--quiet", "--state", f"{plain}/state", HADOOP_CONF_DIR=str(config))
    assert there.entries() == ["out", "state"]
    assert there.entries("state/job/checkpoint/offsets") == ["0", "1"]
    assert not Path(plain).exists()
    shown = _windrow("state", "list", str(sql), "--state", f"{plain}/state", "--format", "json", HADOOP_CONF_DIR=str(config))
    assert len(json.loads(shown)) == 2
    local = tmp_path / "local"
    _windrow("run", str(sql), "--until-end", "--quiet", "--state", f"file:{local}", HADOOP_CONF_DIR=str(config))
    assert (local / "job/checkpoint/offsets/0").is_file()


def _until(is_so: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_driver_that_was_stopped_for_longer_than_its_lease_writes_nothing_more(hdfs_store: Store, tmp_path: Path) -> None:
    """Two drivers of one job: the one that was away ends with WR808, and every row is in the output once."""
    _some(tmp_path)
    there = hdfs_store.folder()
    sql = tmp_path / "job.sql"
    sql.write_text(SQL.format(folder=f"file:{tmp_path}", out=f"{there.path}/out"))
    arguments = [sys.executable, "-m", "windrow", "run", str(sql), "--quiet", "--state", f"{there.path}/state"]
    settings = ["--set", "state.lease.seconds=6"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    first = subprocess.Popen([*arguments, *settings], **pipes)
    try:
        _until(lambda: "1" in there.child("state/job/checkpoint/commits").names(), first)
        os.killpg(first.pid, signal.SIGSTOP)
        _write(tmp_path, 2, [{"symbol": "C", "price": 3.0, "ts": 16_000}])
        _windrow("run", str(sql), "--until-end", "--quiet", "--state", f"{there.path}/state", *settings)
        rows = _rows(there.child("out"))
        assert rows == [("A", 2), ("B", 1), ("C", 1)]
        os.killpg(first.pid, signal.SIGCONT)
        shown, _ = first.communicate(timeout=120)
        assert first.returncode == 1, shown
        assert "WR808" in shown
        assert _rows(there.child("out")) == rows
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
