"""The registry: what it is opened on, and what it keeps."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from windrow.errors import UsageError
from windrow.server.database import SCHEMA_VERSION
from windrow.server.registry import Registry


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "registry.db"
    with pytest.raises(UsageError) as raised:
        Registry(path)
    assert raised.value.code == "WR920"
    assert str(path) in raised.value.message


def test_a_registry_that_is_spoiled_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    path.write_text("something else" * 100)
    registry = Registry(path)
    assert registry.deployments() == []
    (aside,) = tmp_path.glob("registry.db.broken-*")
    assert aside.read_text().startswith("something else")
    registry.close()


def test_a_registry_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "registry.db"
    later = sqlite3.connect(path)
    later.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    later.close()
    with pytest.raises(UsageError) as raised:
        Registry(path)
    assert raised.value.code == "WR921"


def test_what_was_written_is_there_after_it_is_opened_again(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry.db")
    registry.put_pipeline("orders", "ada", "")
    assert registry.add_version("orders", "SELECT 1", "first", "ada") == 1
    assert registry.add_version("orders", "SELECT 1", "the same", "ada") == 1
    assert registry.add_version("orders", "SELECT 2", "second", "ada") == 2
    registry.want("orders", "running", 2)
    registry.close()
    again = Registry(tmp_path / "registry.db")
    assert [one.n for one in again.versions("orders")] == [2, 1]
    found = again.deployment("orders")
    assert found is not None
    assert (found.desired, found.version, found.observed) == ("running", 2, "stopped")
    again.close()
