"""The lock of the jars: whole, exact, and held to; fetching itself is tried by the integration tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from windrow import jars
from windrow.errors import UsageError
from windrow.jars import Jar, jar_files, jar_groups, locked_jars

CONTENT = b"a jar"
JAR = Jar.of("org.example:thing:1.0", "b49e1b9dd7ae3c4a7f6ad5e6ee5be5e4dd1e3ad1b4a2f1d1c1a0c0ffee000000")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDROW_CACHE", str(tmp_path))
    return tmp_path / "jars"


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    monkeypatch.setattr(jars, "_lock", lambda: {"things": {JAR.coordinates: hashlib.sha256(CONTENT).hexdigest()}})


def _fetching(monkeypatch: pytest.MonkeyPatch, content: bytes) -> list[str]:
    asked: list[str] = []

    def fetch(wanted: list[Jar], folder: Path, _ivy: Path) -> None:
        for jar in wanted:
            asked.append(jar.coordinates)
            (folder / jar.file_name).write_bytes(content)

    monkeypatch.setattr(jars, "fetch", fetch)
    return asked


@pytest.mark.parametrize("group", jar_groups())
def test_every_jar_is_pinned_to_one_file(group: str) -> None:
    for jar in locked_jars(group):
        assert re.fullmatch(r"[0-9a-f]{64}", jar.sha256), jar
        assert re.fullmatch(r"\d[\w.-]*", jar.version), jar
    names = [jar.file_name for jar in locked_jars(group)]
    assert len(set(names)) == len(names)


@pytest.mark.usefixtures("locked")
def test_a_jar_is_fetched_once_and_again_when_it_is_damaged(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _fetching(monkeypatch, CONTENT)
    assert jar_files("things") == jar_files("things") == [cache / "thing-1.0.jar"]
    assert asked == [JAR.coordinates]
    (cache / "thing-1.0.jar").write_bytes(b"torn")
    jar_files("things")
    assert asked == [JAR.coordinates] * 2


@pytest.mark.usefixtures("locked")
def test_another_file_than_the_locked_one_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fetching(monkeypatch, b"something else")
    with pytest.raises(UsageError, match="WR603"):
        jar_files("things")
    assert not (cache / "thing-1.0.jar").exists()


@pytest.mark.usefixtures("locked")
def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINDROW_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="WR604"):
        jar_files("things")


def test_without_a_repository_the_error_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers>'
        '<ibiblio name="none" m2compatible="true" root="http://127.0.0.1:1/"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv("WINDROW_IVY_SETTINGS", str(settings))
    with pytest.raises(UsageError, match=r"WR602\] org\.example:thing:1\.0 could not be fetched(.|\n)*WINDROW_IVY_SETTINGS"):
        jars.fetch([JAR], tmp_path, tmp_path / "ivy")
