"""Storage on a real HDFS: the contract, and the ways in which a name node refuses."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.contracts.files import WorkerFilesContract
from tests.contracts.folders import FolderContract
from tests.contracts.leases import LeaseContract
from tests.integration.storage.conftest import Store
from windrow.storage import Folder, StorageError


@pytest.fixture
def folder(hdfs_store: Store) -> Folder:
    return hdfs_store.folder()


class TestHdfsFolder(FolderContract):
    @pytest.fixture
    def folder(self, hdfs_store: Store) -> Folder:
        return hdfs_store.folder()


class TestHdfsFiles(WorkerFilesContract):
    @pytest.fixture
    def folder(self, hdfs_store: Store) -> Folder:
        return hdfs_store.folder()


class TestHdfsLease(LeaseContract):
    @pytest.fixture
    def folder(self, hdfs_store: Store) -> Folder:
        return hdfs_store.folder()

    @pytest.fixture
    def reach(self, hdfs_store: Store, folder: Folder) -> list[str]:
        return hdfs_store.reach(folder)


@contextmanager
def _safe_mode(fs: Any) -> Iterator[None]:
    """The name node takes no change, as after a restart or when its own disk is full."""
    actions = fs.getClass().getClassLoader().loadClass("org.apache.hadoop.fs.SafeModeAction").getEnumConstants()
    named = {str(action): action for action in actions}
    fs.setSafeMode(named["ENTER"])
    try:
        yield
    finally:
        fs.setSafeMode(named["LEAVE"])


def test_a_name_node_that_takes_no_change_is_an_error(folder: Folder) -> None:
    folder.replace_atomically("a", b"old")
    with _safe_mode(folder._fs):  # type: ignore[attr-defined]
        for change in (
            lambda: folder.replace_atomically("a", b"new"),
            lambda: folder.create_exclusively("b", b"new"),
            lambda: folder.make("sub"),
            lambda: folder.move("a", "c"),
            lambda: folder.remove("a"),
        ):
            with pytest.raises(StorageError, match="WR802") as found:
                change()
            assert "safe mode" in found.value.message
        assert folder.read("a") == b"old"
    folder.replace_atomically("a", b"new")
    assert folder.read("a") == b"new"
    assert folder.names() == ["a"]


def test_a_folder_that_is_full_is_told_and_keeps_the_old_file(folder: Folder, hdfs_store: Store) -> None:
    folder.replace_atomically("a", b"old")
    fs: Any = folder._fs  # type: ignore[attr-defined]
    path = hdfs_store.hadoop.path(folder.path)
    fs.setQuota(path, 100, 1)
    with pytest.raises(StorageError, match="WR802") as found:
        folder.replace_atomically("a", b"new")
    assert found.value.number == errno.EDQUOT
    assert folder.read("a") == b"old"
    fs.setQuota(path, 100, 1 << 40)
    folder.replace_atomically("a", b"new")
    assert folder.entries() == ["a"]


def test_a_writer_that_was_killed_leaves_the_old_file(folder: Folder) -> None:
    """Its stream is never closed: HDFS keeps the file under construction, hidden, and the name free."""
    folder.replace_atomically("a", b"old")
    fs: Any = folder._fs  # type: ignore[attr-defined]
    stream = fs.create(folder._at(".a.0123456789ab.tmp"), True)  # type: ignore[attr-defined]
    stream.write(bytearray(b"ne"))
    stream.hflush()
    assert folder.read("a") == b"old"
    folder.replace_atomically("a", b"new")
    assert folder.read("a") == b"new"
    folder.remove_leftovers()
    assert folder.entries() == ["a"]
    with suppress(Exception):  # Its file is gone; what is left is the client's own thread.
        stream.close()
