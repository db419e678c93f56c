"""Storage on a local disk: the contract, and what only a local disk can be asked."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from tests.contracts.folders import FolderContract
from tests.contracts.leases import LeaseContract
from windrow.storage import Folder, LocalFolder, StorageError


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return LocalFolder(tmp_path / "there")


class TestLocalFolder(FolderContract):
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Folder:
        return LocalFolder(tmp_path / "there")


class TestLocalLease(LeaseContract):
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Folder:
        return LocalFolder(tmp_path / "there")

    @pytest.fixture
    def reach(self, folder: Folder) -> list[str]:
        return [folder.path, "{}"]


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_failing_step_spares_the_old_file(folder: Folder, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    folder.replace_atomically("a", b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(StorageError, match="WR802") as found:
            folder.replace_atomically("a", b"new")
    assert found.value.number == errno.ENOSPC
    assert f"{folder.path}/a" in found.value.message
    assert folder.read("a") == b"old"
    assert folder.entries() == ["a"]


def test_what_is_replaced_is_synced_file_first_then_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.make()
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/")[2])
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    folder.replace_atomically("a", b"1")
    assert len(synced) == 2
    assert synced[0].startswith(".a.")
    assert synced[1] == "there"
    folder.replace_atomically("a", b"2", durable=False)
    assert len(synced) == 2


def test_two_writers_do_not_share_a_temporary_file(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second driver that writes the same name at the same moment must not tear the first one's file."""
    made: list[str] = []
    replace = os.replace

    def noted(source: str, target: str) -> None:
        made.append(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", noted)
    folder.replace_atomically("a", b"1")
    monkeypatch.setattr("windrow.storage.filesystem._WRITER", "ffffffffffff")
    folder.replace_atomically("a", b"1")
    assert len(set(made)) == 2


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(small)], capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        folder = LocalFolder(small)
        folder.replace_atomically("a", b"old")
        with pytest.raises(StorageError, match="No space left") as found:
            folder.replace_atomically("a", b"x" * 100_000)
        assert found.value.number == errno.ENOSPC
        assert folder.read("a") == b"old"
        assert folder.entries() == ["a"]
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="WR802"):
        LocalFolder(tmp_path / "file" / "sub").prepare()


def test_the_uri_means_the_same_whatever_the_default_file_system_is(tmp_path: Path) -> None:
    assert LocalFolder(tmp_path).uri("a") == f"file:{tmp_path}/a"
