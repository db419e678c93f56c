"""kill -9 around rows whose output is away: each ends where an undisturbed run puts it, in one place, and is counted there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import ledgerdb
from tests.chaos.outage_job import KILL_AT

pytestmark = pytest.mark.chaos

ROOT = Path(__file__).resolve().parents[2]
SQL = """
CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1');
CREATE STREAM shop AS SELECT v FROM s WITH ('connector' = 'ledgerdb', 'path' = '{out}/shop.db', {options}, 'write.timeout' = '30s');
CREATE STREAM archive AS SELECT v * 10 AS v FROM s WITH ('connector' = 'files', 'path' = '{out}/archive', 'format' = 'json');
CREATE STREAM backup AS SELECT v FROM s WHERE v < 0 WITH ('connector' = 'ledgerdb', 'path' = '{out}/backup.db');
"""
OPTIONS = {
    "spill": "'on.unavailable' = 'spill'",
    "failover": "'on.unavailable' = 'failover', 'failover.to' = 'backup'",
    "drop": "'on.unavailable' = 'drop'",
}
FILES, ROWS = 8, 5
ALL = list(range(FILES * ROWS))


def _run(folder: Path, policy: str, name: str, point: str) -> subprocess.CompletedProcess[str]:
    out = folder / policy / name
    out.mkdir(exist_ok=True, parents=True)
    sql = out / "job.sql"
    sql.write_text(SQL.format(folder=folder, out=out, options=OPTIONS[policy]))
    command = [sys.executable, str(Path(__file__).with_name("outage_job.py")), str(sql), f"{out}/state", f"{out}/shop.db", point]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, start_new_session=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )


def _completed(folder: Path, policy: str, name: str) -> dict[str, Any]:
    """What a run that comes to its end has counted."""
    done = _run(folder, policy, name, "none")
    assert done.returncode == 0, done.stderr[-3000:]
    counted: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return counted


def _values(path: Path) -> list[int]:
    return [row["v"] for row in ledgerdb.lines(path)] if path.exists() else []


def _check_spilled(out: Path, counted: dict[str, Any]) -> None:
    assert _values(out / "shop.db") == ALL
    assert counted["spilled"] > 0, "the outage made nothing wait"
    assert counted["waiting"] == 0
    assert not list((out / "state").glob("*/spill/*/*.arrow"))


def _check_failed_over(out: Path, counted: dict[str, Any]) -> None:
    sent, elsewhere = _values(out / "shop.db"), _values(out / "backup.db")
    assert elsewhere, "the outage sent nothing to the other output"
    assert sorted(sent + elsewhere) == ALL
    assert counted["emitted"] == len(ALL)


def _check_dropped(out: Path, counted: dict[str, Any]) -> None:
    sent = _values(out / "shop.db")
    assert counted["unsent"], "the outage dropped nothing"
    assert len(sent) == len(set(sent))
    assert len(sent) + sum(counted["unsent"].values()) == counted["emitted"] == len(ALL)


CHECKS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "spill": _check_spilled,
    "failover": _check_failed_over,
    "drop": _check_dropped,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outages")
    (made / "in").mkdir()
    for number in range(FILES):
        text = "".join(json.dumps({"v": number * ROWS + n}) + "\n" for n in range(ROWS))
        file = made / "in" / f"{number}.json"
        file.write_text(text)
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    return made


@pytest.mark.parametrize("policy", list(CHECKS))
def test_an_undisturbed_run(folder: Path, policy: str) -> None:
    CHECKS[policy](folder / policy / "undisturbed", _completed(folder, policy, "undisturbed"))


@pytest.mark.parametrize(("policy", "point"), [(policy, point) for policy, points in KILL_AT.items() for point in points])
def test_a_kill_at_this_point_leaves_no_trace(folder: Path, policy: str, point: str) -> None:
    name = "".join(letter if letter.isalnum() else "-" for letter in point)
    killed = _run(folder, policy, name, point)
    assert killed.returncode == -signal.SIGKILL, f"it was not killed: {killed.stderr[-2000:]}"
    out = folder / policy / name
    CHECKS[policy](out, _completed(folder, policy, name))
    archived = [json.loads(line)["v"] for file in sorted((out / "archive").glob("batch-*.json")) for line in file.read_text().splitlines()]
    assert archived == [10 * value for value in ALL]
