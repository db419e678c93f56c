"""What all files promise: those of a folder, and those of S3 and HDFS as workers reach them without Java.

A test module subclasses this and gives the fixture ``files``, a folder that is empty.
"""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from windrow.storage import Files, Folder, NotForWorkers, StorageError


class FilesContract:
    @pytest.fixture
    def files(self) -> Files:
        raise NotImplementedError

    def test_what_was_written_is_read(self, files: Files) -> None:
        files.replace_atomically("a", b"one")
        assert files.read("a") == b"one"
        files.replace_atomically("a", b"")
        assert files.read("a") == b""

    def test_a_large_file_is_whole(self, files: Files) -> None:
        data = bytes(range(256)) * 50_000
        files.replace_atomically("big", data)
        assert files.read("big") == data

    def test_a_reader_sees_the_old_file_or_the_new_one(self, files: Files) -> None:
        sizes = (1_000, 300_000)
        files.replace_atomically("a", b"x" * sizes[0])
        is_over = threading.Event()
        seen: list[bytes] = []

        def look() -> None:
            while not is_over.is_set():
                seen.append(files.read("a"))

        with ThreadPoolExecutor(1) as pool:
            looking = pool.submit(look)
            for number in range(10):
                files.replace_atomically("a", (b"y" if number % 2 else b"z") * sizes[number % 2])
            is_over.set()
            looking.result()
        assert seen
        assert all(len(data) in sizes and len(set(data)) == 1 for data in seen)

    def test_a_folder_that_is_not_there_has_no_files(self, files: Files) -> None:
        assert files.child("nowhere").names() == []

    def test_writing_makes_the_folder_of_a_file(self, files: Files) -> None:
        files.child("x").child("y").replace_atomically("a", b"1")
        assert files.child("x/y").names() == ["a"]
        assert files.child("x/y").read("a") == b"1"
        assert files.names() == []

    def test_names_are_those_of_visible_files_in_order(self, files: Files) -> None:
        for name in ("b", "a", ".hidden"):
            files.replace_atomically(name, b"1")
        files.child("sub").replace_atomically("c", b"1")
        assert files.names() == ["a", "b"]

    def test_a_file_that_is_missing_cannot_be_read(self, files: Files) -> None:
        with pytest.raises(StorageError, match="WR816") as found:
            files.read("nothing")
        assert "nothing" in found.value.message
        assert found.value.hint

    def test_a_file_is_removed_once(self, files: Files) -> None:
        files.replace_atomically("a", b"1")
        files.remove("a")
        files.remove("a")
        assert files.names() == []


class WorkerFilesContract(FilesContract):
    """Of files that are sent to workers. Subclasses give ``folder``, as the driver reaches it."""

    @pytest.fixture
    def folder(self) -> Folder:
        raise NotImplementedError

    @pytest.fixture
    def files(self, folder: Folder) -> Files:
        found = folder.for_workers()
        assert not isinstance(found, NotForWorkers), found.reason
        return found

    def test_they_are_the_drivers_where_they_were_sent_to(self, folder: Folder, files: Files) -> None:
        sent: Files = pickle.loads(pickle.dumps(files.child("sub")))
        assert sent.path == folder.child("sub").path
        sent.replace_atomically("a", b"1")
        assert folder.read("sub/a") == b"1"
        folder.replace_atomically("sub/b", b"2")
        assert sent.names() == ["a", "b"]
        folder.remove("sub")
        assert sent.names() == []
