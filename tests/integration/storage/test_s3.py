"""Storage on a server with the API of S3: the contract, and what object stores do otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.files import WorkerFilesContract
from tests.contracts.folders import FolderContract
from tests.contracts.leases import LeaseContract
from tests.integration.storage.conftest import Store
from windrow.storage import Folder, StorageError
from windrow.storage.hadoop import HadoopFolder


@pytest.fixture
def folder(s3_store: Store) -> Folder:
    return s3_store.folder()


class TestS3Folder(FolderContract):
    @pytest.fixture
    def folder(self, s3_store: Store) -> Folder:
        return s3_store.folder()


class TestS3Files(WorkerFilesContract):
    @pytest.fixture
    def folder(self, s3_store: Store) -> Folder:
        return s3_store.folder()


class TestS3Lease(LeaseContract):
    @pytest.fixture
    def folder(self, s3_store: Store) -> Folder:
        return s3_store.folder()

    @pytest.fixture
    def reach(self, s3_store: Store, folder: Folder) -> list[str]:
        return s3_store.reach(folder)


def test_a_stream_that_is_not_closed_changes_nothing(folder: Folder) -> None:
    folder.replace_atomically("a", b"old")
    fs: Any = folder._fs  # type: ignore[attr-defined]
    stream = fs.create(folder._at("a"), True)  # type: ignore[attr-defined]
    stream.write(bytearray(b"ne"))
    assert folder.read("a") == b"old"
    stream.abort()
    stream.close()
    assert folder.read("a") == b"old"


def test_a_bucket_that_is_not_there_is_an_error(s3_store: Store) -> None:
    with pytest.raises(StorageError, match="s3a://nowhere/a"):
        HadoopFolder(s3_store.hadoop, "s3a://nowhere/a").replace_atomically("b", b"1")


def test_without_conditional_writes_there_is_no_exclusive_create(folder: Folder) -> None:
    """An older Hadoop or another store: two drivers would both believe that the folder is theirs."""
    inner: Any = folder._fs  # type: ignore[attr-defined]

    class Older:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def hasPathCapability(self, *_: object) -> bool:  # noqa: N802 (Hadoop's name)
            return False

    folder._fs = Older()  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="WR810") as found:
        folder.create_exclusively("a", b"1")
    assert found.value.hint
    assert not folder.exists("a")
