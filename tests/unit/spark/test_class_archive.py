"""The archive of classes: where it is, and that only a whole one is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.java import JavaHome
from windrow.spark.internals.class_archive import archive_path, reading_option, writing_option

JAVA = JavaHome(Path("/opt/java"), 17, "17.0.15")


def test_an_archive_belongs_to_a_version_and_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WINDROW_CACHE", str(tmp_path))
    here = archive_path(JAVA)
    assert here.parent == tmp_path
    assert "java-17.0.15" in here.name
    assert archive_path(JavaHome(Path("/opt/other"), 17, "17.0.15")) != here


def test_a_missing_or_unfinished_archive_is_not_used(tmp_path: Path) -> None:
    archive = tmp_path / "a b.jsa"
    assert reading_option(archive) == ""
    archive.write_bytes(bytes(4096))
    assert reading_option(archive) == ""
    archive.write_bytes(b"\xa8\xab\x0b\xf0" + bytes(4096))
    assert reading_option(archive).startswith(f'"-XX:SharedArchiveFile={archive}"')
    assert str(archive) in writing_option(archive)
