"""The command line, called in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

Windrow = Callable[..., Result]


@pytest.fixture
def windrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Windrow:
    """Calls ``windrow`` in an empty folder. ``stdin`` is what it reads from standard input."""
    from windrow.cli.main import app

    monkeypatch.chdir(tmp_path)
    for name in ("DEBUG", "ENV", "MASTER", "STATE", "PARALLELISM"):
        monkeypatch.delenv(f"WINDROW_{name}", raising=False)

    def call(*words: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(words), input=stdin)

    return call
