"""What every folder of ``windrow.storage`` promises. A file system's own test module subclasses this and gives the fixture ``folder``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contracts.files import FilesContract
from windrow.storage import Files, Folder, StorageError


class FolderContract(FilesContract):
    @pytest.fixture
    def folder(self) -> Folder:
        raise NotImplementedError

    @pytest.fixture
    def files(self, folder: Folder) -> Files:
        return folder

    def test_every_byte_survives(self, folder: Folder) -> None:
        data = bytes(range(256)) * 40_000
        folder.replace_atomically("big", data)
        assert folder.read("big") == data
        assert folder.status("big").size == len(data)
        assert folder.status("big").modified > 1_600_000_000

    def test_a_folder_that_is_not_there_is_empty(self, folder: Folder) -> None:
        nowhere = folder.child("nowhere")
        assert nowhere.names() == []
        assert nowhere.entries() == []
        assert not folder.exists("nowhere")

    def test_writing_makes_the_folder(self, folder: Folder) -> None:
        folder.child("x").child("y").replace_atomically("a", b"1")
        assert folder.read("x/y/a") == b"1"
        assert folder.entries() == ["x"]
        assert folder.child("x/y").names() == ["a"]

    def test_names_are_visible_files_in_order(self, folder: Folder) -> None:
        for name in ("b", "a", ".hidden", "sub/c"):
            folder.replace_atomically(name, b"1")
        assert folder.names() == ["a", "b"]
        assert folder.entries() == [".hidden", "a", "b", "sub"]

    def test_one_of_many_creates_a_file(self, folder: Folder) -> None:
        folder.make()
        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(lambda number: folder.create_exclusively("one", f"{number}".encode()), range(8)))
        assert sum(won) == 1
        assert folder.read("one") == str(won.index(True)).encode()

    def test_a_file_that_is_there_is_not_created(self, folder: Folder) -> None:
        folder.replace_atomically("a", b"old")
        assert not folder.create_exclusively("a", b"new")
        assert folder.read("a") == b"old"

    def test_a_staged_file_is_moved(self, folder: Folder) -> None:
        folder.write_new("staging/part", b"rows")
        folder.make_durable("staging/part")
        folder.make_durable("staging")
        folder.move("staging/part", "rows")
        assert folder.read("rows") == b"rows"
        assert not folder.exists("staging/part")

    def test_a_move_takes_the_place_of_what_was_there(self, folder: Folder) -> None:
        folder.replace_atomically("rows", b"old")
        folder.write_new("part", b"new")
        folder.move("part", "rows")
        assert folder.read("rows") == b"new"
        assert folder.names() == ["rows"]

    def test_moving_nothing_fails_and_spares_the_target(self, folder: Folder) -> None:
        folder.replace_atomically("rows", b"old")
        with pytest.raises(StorageError):
            folder.move("nothing", "rows")
        assert folder.read("rows") == b"old"

    def test_a_file_cannot_take_the_place_of_a_folder(self, folder: Folder) -> None:
        """A rename that is refused is an error, and what was there stays."""
        folder.replace_atomically("sub/a", b"old")
        with pytest.raises(StorageError, match="sub") as found:
            folder.replace_atomically("sub", b"new")
        assert found.value.code == "WR802"
        assert folder.read("sub/a") == b"old"
        assert folder.entries() == ["sub"]

    def test_files_and_folders_are_removed(self, folder: Folder) -> None:
        folder.replace_atomically("a", b"1")
        folder.replace_atomically("sub/b", b"1")
        folder.remove("a")
        folder.remove("sub")
        folder.remove("nothing")
        assert folder.entries() == []

    def test_a_torn_write_leaves_what_was_there(self, folder: Folder) -> None:
        """What a writer that was killed leaves behind is no file of ours, and is tidied away."""
        folder.replace_atomically("a", b"old")
        folder.write_new(".a.0123456789ab.tmp", b"ne")
        assert folder.names() == ["a"]
        folder.remove_leftovers()
        assert folder.entries() == ["a"]
        assert folder.read("a") == b"old"

    def test_a_folder_is_prepared(self, folder: Folder) -> None:
        folder.child("new").prepare()
        folder.child("new").prepare()
        assert folder.child("new").entries() == []
