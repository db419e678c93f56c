"""A project of two files, and ways to read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from windrow.config import Environment, find_project, resolve

SOURCES = """CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'kafka', 'topic' = 'trades', 'bootstrap.servers' = 'laptop:9092', 'format' = 'json', 'event.time.field' = 'ts'
);
"""
CANDLES = """CREATE STREAM candles AS SELECT symbol, MAX(price) AS high FROM trades GROUP BY symbol
WINDOW TUMBLING(5m) WITH ('connector' = 'console');
"""

MakeProject = Callable[[str], Path]
InEnvironment = Callable[..., Environment]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeProject:
    """A folder with ``sources.sql``, ``queries/candles.sql`` and a ``windrow.yaml`` of this text. It is the working folder."""
    monkeypatch.chdir(tmp_path)

    def make(text: str) -> Path:
        (tmp_path / "queries").mkdir(exist_ok=True)
        (tmp_path / "sources.sql").write_text(SOURCES)
        (tmp_path / "queries" / "candles.sql").write_text(CANDLES)
        (tmp_path / "windrow.yaml").write_text(text)
        return tmp_path

    return make


@pytest.fixture
def in_environment(project: MakeProject) -> InEnvironment:
    """The environment of a text; ``process`` is the environment of the process."""

    def read(text: str, name: str | None = None, **process: str) -> Environment:
        found = find_project(str(project(text) / "queries" / "candles.sql"))
        assert found is not None
        return resolve(found, name, process)

    return read
