"""State that executors hold on S3 and on HDFS, which their Python reaches without Java: what comes out is what the driver gives."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.storage.conftest import Store
from windrow.storage import Folder

# Each starts several jobs and JVMs: minutes. `make storage` runs them.
pytestmark = pytest.mark.slow

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'file:{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(price) AS total, _emission AS kind, _revision AS rev
  FROM trades GROUP BY symbol WINDOW SLIDING(10s, 5s) ALLOWED_LATENESS 10s
  WITH ('connector' = 'files', 'path' = '{out}/candles', 'format' = 'json');
CREATE STREAM totals AS SELECT symbol, COUNT(*) AS n, _revision AS rev FROM trades GROUP BY symbol EMIT CHANGES
  WITH ('connector' = 'files', 'path' = '{out}/totals', 'format' = 'json');
"""
FILES = 5


class Job:
    """One job whose state and rows are below a folder of a store."""

    def __init__(self, folder: Path, there: Folder, settings: dict[str, str]) -> None:
        self._there, self._settings = there, settings
        self._file = folder / f"{there.path.rpartition('/')[2]}.sql"
        self._file.write_text(SQL.format(folder=folder, out=f"{there.path}/out"))

    def windrow(self, *words: str, **more: str) -> str:
        given = {**self._settings, **{key.replace("_", "."): value for key, value in more.items()}}
        settings = [part for key, value in given.items() for part in ("--set", f"{key}={value}")]
        command = [sys.executable, "-m", "windrow", *words, str(self._file), "--state", f"{self._there.path}/state", *settings]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, home: str, *words: str) -> None:
        self.windrow("run", *(words or ("--until-end",)), "--quiet", state_home=home, state_buckets="3", state_snapshot_every="2")

    def rows(self) -> dict[str, list[str]]:
        there = {name: self._there.child(f"out/{name}") for name in ("candles", "totals")}
        return {
            name: [line for file in folder.names() if file.startswith("batch-") for line in folder.read(file).decode().splitlines()]
            for name, folder in there.items()
        }

    def files_of_buckets(self) -> list[str]:
        stages = self._there.child("state/" + self._there.entries("state")[0] + "/buckets")
        return [name for stage in stages.entries() for bucket in stages.entries(stage) for name in stages.entries(f"{stage}/{bucket}")]


def _write(folder: Path, numbers: range) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for number in numbers:
        chance = random.Random(number)
        path = folder / "in" / f"{number}.json"
        rows: list[dict[str, Any]] = [
            {"symbol": chance.choice("ABCDEFG"), "price": chance.randrange(100), "ts": number * 7000 + chance.randrange(7000)}
            for _ in range(30)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.mark.parametrize("kind", ["hdfs", "s3"])
def test_it_is_what_the_driver_would_hold(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """In two runs, with a look at what is open between them, a step back, and no row file left behind."""
    store: Store = request.getfixturevalue(f"{kind}_store")
    _write(tmp_path, range(FILES))
    resident, spread = (Job(tmp_path, store.folder(), store.settings) for _ in range(2))
    resident.run("resident")
    for number in range(3, FILES):
        (tmp_path / "in" / f"{number}.json").unlink()
    spread.run("distributed", "--once")
    shown = json.loads(spread.windrow("state", "show", "--format", "json"))
    assert "executors, 3 buckets" in json.dumps(shown)
    spread.windrow("state", "restore", "--to", "1", "--yes")
    _write(tmp_path, range(3, FILES))
    spread.run("distributed")
    expected = resident.rows()
    assert len(expected["candles"]) > 20
    assert spread.rows() == expected
    there = spread.files_of_buckets()
    assert any(name.endswith(".snapshot") for name in there)
    assert not [name for name in there if name.endswith(".rows")]
