"""kill -9 between every two steps of a batch's commit, with both state backends and on HDFS: a second run ends as an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.chaos.fault_job import BUCKET_POINTS, POINTS
from tests.chaos.trades import write_trades
from tests.servers.hdfs import hdfs
from windrow.storage import Folder, open_folder

pytestmark = pytest.mark.chaos

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, FIRST(price) AS open, SUM(price) AS total, COUNT(*) AS n, _emission AS kind, _revision AS rev
  FROM trades GROUP BY symbol WINDOW TUMBLING(5s) ALLOWED_LATENESS 10s
  WITH ('connector' = 'files', 'path' = '{out}/candles', 'format' = 'json');
CREATE STREAM running AS SELECT symbol, COUNT(*) AS n, _revision AS rev FROM trades GROUP BY symbol EMIT CHANGES
  WITH ('connector' = 'files', 'path' = '{out}/running', 'format' = 'json');
"""
FILES, ROWS, BATCH = 7, 40, 3


def _run(folder: Path, name: str, home: str, point: str, root: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """``root`` is where state and outputs go, if not below ``folder``."""
    sql = folder / f"{name}.sql"
    out = f"{root or folder}/{name}"
    sql.write_text(SQL.format(folder=f"file:{folder}", out=out))
    script = Path(__file__).with_name("fault_job.py")
    command = [sys.executable, str(script), str(sql), f"{out}/state", home, point, str(BATCH)]
    return subprocess.run(command, capture_output=True, timeout=300, start_new_session=True, check=False)


def _results(folder: Path, name: str, root: str | None = None) -> dict[str, Any]:
    out = open_folder(f"{root or folder}/{name}")
    rows = {
        stream: [line for data in _files(out.child(stream), ".json") for line in data.decode().splitlines()]
        for stream in ("candles", "running")
    }
    files = [data for job in out.entries("state") for data in _files(out.child(f"state/{job}/dead_letters"), ".parquet")]
    letters = [row for data in files for row in pq.read_table(BytesIO(data)).to_pylist()]
    return {**rows, "letters": sorted(({k: v for k, v in row.items() if k != "arrived_at"} for row in letters), key=repr)}


def _files(folder: Folder, ending: str) -> list[bytes]:
    return [folder.read(name) for name in folder.names() if name.startswith("batch-") and name.endswith(ending)]


@dataclass(frozen=True)
class Undisturbed:
    folder: Path
    home: str
    root: str | None = None


@pytest.fixture(scope="module", params=["resident", "distributed", "hdfs"])
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    folder = tmp_path_factory.mktemp(request.param)
    write_trades(folder / "in", FILES, ROWS, seed=23)
    with ExitStack() as stack:
        if request.param == "hdfs":
            case = Undisturbed(folder, "resident", stack.enter_context(hdfs(folder / "hdfs")))
        else:
            case = Undisturbed(folder, request.param)
        done = _run(folder, "undisturbed", case.home, "none", case.root)
        assert done.returncode == 0, done.stderr.decode()
        found = _results(folder, "undisturbed", case.root)
        assert found["candles"]
        assert found["letters"]
        yield case


@pytest.mark.parametrize("point", [*POINTS, *BUCKET_POINTS])
def test_a_kill_at_this_point_leaves_no_trace(undisturbed: Undisturbed, point: str) -> None:
    folder, home, root = undisturbed.folder, undisturbed.home, undisturbed.root
    if point in BUCKET_POINTS and home == "resident":
        pytest.skip("the driver has no buckets")
    name = point.replace(" ", "-").replace("'", "")
    killed = _run(folder, name, home, point, root)
    assert killed.returncode == -signal.SIGKILL, f"it was not killed: {killed.stderr.decode()[-2000:]}"
    again = _run(folder, name, home, "none", root)
    assert again.returncode == 0, again.stderr.decode()[-2000:]
    assert _results(folder, name, root) == _results(folder, "undisturbed", root)


def _states(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"state/*/state/*.{kind}"))


def _stopped_job(folder: Path, name: str) -> Path:
    """A job that was killed in the middle, with some states kept."""
    killed = _run(folder, name, "resident", "before Spark's commit")
    assert killed.returncode == -signal.SIGKILL
    return folder / name


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    write_trades(folder / "in", FILES, ROWS, seed=23)
    done = _run(folder, "undisturbed", "resident", "none")
    assert done.returncode == 0, done.stderr.decode()
    return folder


def test_a_torn_snapshot_is_passed_over(resident: Path) -> None:
    out = _stopped_job(resident, "torn-snapshot")
    newest = _states(out, "snapshot")[-1]
    newest.write_bytes(newest.read_bytes()[:-20])
    assert _run(resident, "torn-snapshot", "resident", "none").returncode == 0
    assert _results(resident, "torn-snapshot") == _results(resident, "undisturbed")


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_damaged_change_is_refused_or_not_needed(resident: Path, damage: str) -> None:
    """The change of the last committed batch, with no snapshot of it: there is nothing to recover from, and that is said."""
    name = f"change-{damage}"
    out = _stopped_job(resident, name)
    for snapshot in _states(out, "snapshot"):
        snapshot.unlink()
    last = _states(out, "change")[BATCH - 1]
    data = last.read_bytes()
    if damage == "missing":
        last.unlink()
    else:
        last.write_bytes(data[: len(data) // 2] if damage == "cut" else data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
    refused = _run(resident, name, "resident", "none")
    assert refused.returncode == 1
    assert ("WR811" if damage == "missing" else "WR812") in refused.stderr.decode()
    if damage != "missing":
        last.write_bytes(data)
        assert _run(resident, name, "resident", "none").returncode == 0
        assert _results(resident, name) == _results(resident, "undisturbed")


def test_a_full_disk_stops_the_job_and_loses_nothing(resident: Path, tmp_path: Path) -> None:
    """The state stands on a file system of a few hundred kilobytes; once it is larger, the same job goes on."""
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(small)], capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        (resident / "full-disk").mkdir()
        os.symlink(small, resident / "full-disk" / "state")
        full = _run(resident, "full-disk", "resident", "none")
        assert full.returncode == 1
        shown = full.stderr.decode()
        assert "WR802" in shown or "WR801" in shown, shown[-3000:]
        subprocess.run(["mount", "-o", "remount,size=50m", str(small)], check=True)
        assert _run(resident, "full-disk", "resident", "none").returncode == 0
        assert _results(resident, "full-disk") == _results(resident, "undisturbed")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)
