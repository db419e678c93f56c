"""Archives of an environment for workers, made and read here; that they run on machines without ours is shown in tests/cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from dataclasses import asdict, replace
from importlib import metadata
from pathlib import Path

import pytest

from windrow import packing
from windrow.errors import UsageError
from windrow.packing import CARD, FORMAT, PackCard, make_pack, read_pack

OWN = PackCard("3.11.7" if sys.version_info[1] == 11 else f"3.{sys.version_info[1]}.0", "Linux", "x86_64", "glibc 2.36", {}, "ab")


def _archive(path: Path, card: PackCard | None) -> Path:
    folder = path.parent / "content"
    folder.mkdir()
    (folder / CARD).write_text(json.dumps(asdict(card)) if card is not None else "{}")
    with tarfile.open(path, "w:gz") as made:
        made.add(folder / CARD, CARD)
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small packages only: the real ones are half a gigabyte."""
    found = {name: metadata.distribution(name) for name in ("windrow", "idna")}
    monkeypatch.setattr(packing, "_distributions", lambda _names: found)


def test_an_archive_starts_from_wherever_it_is_unpacked(tmp_path: Path, small: None) -> None:
    packed = make_pack(tmp_path / "packs")
    assert packed.is_new
    assert packed.path.name == f"windrow-env-{packed.card.digest[:12]}.tar.gz"
    there = tmp_path / "somewhere else"
    with tarfile.open(packed.path) as archive:
        archive.extractall(there, filter="tar")
    names = [str(path.relative_to(there)) for path in there.rglob("*")]
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name or "site-packages" in name or "pyspark" in name]
    asked = "import sys, json, idna, windrow; print(json.dumps([sys.prefix, windrow.__file__, idna.__file__, json.__file__]))"
    done = subprocess.run(
        ["bin/python", "-c", asked],
        cwd=there,
        env={"PYTHONPATH": "/nowhere", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(found.startswith(str(there)) for found in json.loads(done.stdout)), done.stdout


def test_what_is_there_already_is_not_made_again(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_pack(tmp_path)
    assert not make_pack(tmp_path).is_new
    own = {"packages/windrow/errors.py": tmp_path / "changed.py"}
    (tmp_path / "changed.py").write_text("changed = True\n")
    monkeypatch.setattr(packing, "_own_files", lambda: own)
    changed = make_pack(tmp_path)
    assert changed.is_new
    assert changed.path != first.path


def test_a_package_that_is_not_installed_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"WR645.*there is no package no-such-thing in this environment"):
        make_pack(tmp_path, ["no-such-thing"])


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, small: None) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"WR645.*cannot write .*/file/env.tar.gz"):
        make_pack(tmp_path, to=tmp_path / "file" / "env.tar.gz")


def test_the_packages_of_windrow_are_packed_and_pyspark_is_not() -> None:
    found = packing._distributions(["windrow"])
    assert {"windrow", "pyarrow", "polars", "sqlglot"} <= set(found)
    assert not {"pyspark", "py4j"} & set(found)


@pytest.mark.parametrize(
    ("card", "told"),
    [
        (None, "is no archive of windrow pack"),
        (replace(OWN, python="3.8.1"), "has Python 3.8, and this is Python 3"),
        (replace(OWN, packages={"windrow": "0.0.1"}), "has Windrow 0.0.1, and this is"),
        (replace(OWN, format=FORMAT + 1), "is no archive of windrow pack"),
    ],
)
def test_an_archive_that_would_not_do_is_refused_before_it_is_shipped(tmp_path: Path, card: PackCard | None, told: str) -> None:
    with pytest.raises(UsageError, match=rf"WR646.*{told}"):
        read_pack(_archive(tmp_path / "env.tar.gz", card))


def test_a_file_that_is_no_archive_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "env.tar.gz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match=r"WR646.*is no archive"):
        read_pack(tmp_path / "env.tar.gz")
    with pytest.raises(UsageError, match=r"WR646.*there is no file"):
        read_pack(tmp_path / "other.tar.gz")
    assert read_pack(_archive(tmp_path / "own.tar.gz", OWN)) == OWN
