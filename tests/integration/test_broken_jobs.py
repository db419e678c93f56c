"""The jobs that are broken on purpose, run anew: what the commands say of them still names the cause."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broken_jobs.causes import SITUATIONS, missing
from tests.broken_jobs.making import make


@pytest.mark.slow
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_is_named(name: str, tmp_path: Path) -> None:
    make(name, tmp_path)

    def run(*words: str) -> str:
        environment = {**os.environ, "PAID_URL": "postgresql://shop@localhost:5432/shop"}
        command = [sys.executable, "-m", "windrow", *words]
        done = subprocess.run(command, cwd=tmp_path / name, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert [text for said in SITUATIONS[name] for text in missing(run, said)] == []
