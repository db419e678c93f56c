"""The example package, installed into an environment of its own, adds a connector, an aggregate and a function."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = pytest.mark.integration


def _run(*command: str | Path, **variables: str) -> str:
    # A session of this process may have named its own interpreter for Spark's workers.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env={**own, **variables}, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a fresh environment: what users have, and the package."""
    folder = tmp_path_factory.mktemp("fresh") / "env"
    _run(UV, "venv", "-q", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    _run(UV, "pip", "install", "-q", "--python", python, "--no-deps", "-r", ROOT / "requirements.lock")
    _run(UV, "pip", "install", "-q", "--python", python, "--no-deps", ROOT, ROOT / "examples" / "plugin")
    return python.parent


def test_the_example_runs_as_its_readme_says(programs: Path, tmp_path: Path) -> None:
    database = tmp_path / "speeds.db"
    state = f"--state={tmp_path / 'state'}"
    told = _run(programs / "windrow", "run", "examples/plugin/speeds.sql", "--until-end", state, DATABASE=str(database))
    with closing(sqlite3.connect(database)) as found:
        rows = found.execute("SELECT road, kmh FROM means ORDER BY minute, road").fetchall()
    assert "The ledger adds up: each of 1,000 rows" in told
    assert [road for road, _ in rows[:2]] == ["mill-lane", "north-road"]
    assert all(30 <= kmh <= 90 for _, kmh in rows)


def test_it_passes_the_contract(programs: Path, tmp_path: Path) -> None:
    python, wanted = programs / "python", ROOT / "requirements-dev.lock"
    names = ("pytest", "iniconfig", "pluggy", "packaging", "pygments")
    pinned = [line.split()[0] for line in wanted.read_text(encoding="utf-8").splitlines() if line.split("==")[0] in names]
    _run(UV, "pip", "install", "-q", "--python", python, "--no-deps", *pinned)
    told = _run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--basetemp={tmp_path / 'run'}", "examples/plugin/tests"
    )
    assert " passed" in told
    assert "failed" not in told


def test_without_the_package_the_file_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "windrow", "check", "examples/plugin/speeds.sql"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'unknown connector "sqlite"' in done.stdout + done.stderr
