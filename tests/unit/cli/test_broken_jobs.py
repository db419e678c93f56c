"""Jobs that are broken on purpose, as real runs have left them: every command names the cause. ``tests/broken_jobs`` makes them anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.broken_jobs.causes import RECORDED, SITUATIONS, missing
from tests.unit.cli.conftest import Windrow


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_is_named(name: str, windrow: Windrow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The address of the database stands in the environment, and is not asked here.
    monkeypatch.setenv("PAID_URL", "postgresql://shop@localhost:5432/shop")
    shutil.copytree(RECORDED / name, tmp_path, dirs_exist_ok=True)

    def run(*words: str) -> str:
        done = windrow(*words)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    assert [text for said in SITUATIONS[name] for text in missing(run, said)] == []


def test_every_recorded_job_is_asked_about() -> None:
    assert {path.name for path in RECORDED.iterdir()} == set(SITUATIONS)
