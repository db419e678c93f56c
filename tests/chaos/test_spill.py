"""kill -9 around rows that wait for an output: the database ends with the rows, and in the order, of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ledgerdb
from tests.chaos.spill_job import KILL_AT

pytestmark = pytest.mark.chaos

ROOT = Path(__file__).resolve().parents[2]
SQL = """
CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1');
CREATE STREAM shop AS SELECT v FROM s
  WITH ('connector' = 'ledgerdb', 'path' = '{out}/shop.db', 'on.unavailable' = 'spill', 'write.timeout' = '30s');
CREATE STREAM archive AS SELECT v * 10 AS v FROM s WITH ('connector' = 'files', 'path' = '{out}/archive', 'format' = 'json');
"""
FILES, ROWS = 8, 5


def _run(folder: Path, name: str, point: str) -> subprocess.CompletedProcess[bytes]:
    out = folder / name
    out.mkdir(exist_ok=True)
    sql = folder / f"{name}.sql"
    sql.write_text(SQL.format(folder=folder, out=out))
    command = [sys.executable, str(Path(__file__).with_name("spill_job.py")), str(sql), f"{out}/state", f"{out}/shop.db", point]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command, capture_output=True, timeout=600, start_new_session=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )


def _results(out: Path) -> tuple[list[int], list[int]]:
    files = sorted((out / "archive").glob("batch-*.json"))
    archived = [json.loads(line)["v"] for file in files for line in file.read_text().splitlines()]
    return [row["v"] for row in ledgerdb.lines(out / "shop.db")], archived


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("spill")
    (made / "in").mkdir()
    for number in range(FILES):
        text = "".join(json.dumps({"v": number * ROWS + n}) + "\n" for n in range(ROWS))
        file = made / "in" / f"{number}.json"
        file.write_text(text)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    done = _run(made, "undisturbed", "none")
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert b"waiting 0" in done.stdout
    assert b"spilled 0" not in done.stdout, "the outage made nothing wait"
    return made


@pytest.mark.parametrize("point", list(KILL_AT))
def test_a_kill_at_this_point_leaves_no_trace(folder: Path, point: str) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in point)
    killed = _run(folder, name, point)
    assert killed.returncode == -signal.SIGKILL, f"it was not killed: {killed.stderr.decode()[-2000:]}"
    again = _run(folder, name, "none")
    assert again.returncode == 0, again.stderr.decode()[-3000:]
    expected = list(range(FILES * ROWS))
    assert _results(folder / name) == _results(folder / "undisturbed") == (expected, [10 * value for value in expected])
    assert not list((folder / name / "state").glob("*/spill/*/*.arrow"))
