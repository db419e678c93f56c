"""What a Hadoop file system may do wrong, one step at a time, played by a file system in memory: an error, and the old file stays."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from windrow.storage import StorageError
from windrow.storage.hadoop import CONDITIONAL_CREATE, HadoopFolder


class Stream:
    def __init__(self, fs: FileSystem, path: str, *, is_whole_on_close: bool) -> None:
        self._fs, self._path, self._data, self._is_late = fs, path, b"", is_whole_on_close
        if not is_whole_on_close:
            fs.files[path] = b""

    def hasCapability(self, name: str) -> bool:  # noqa: N802
        return name == "hsync" and self._fs.has_hsync

    def write(self, data: bytearray) -> None:
        self._fs.meet("write")
        self._data += bytes(data)
        if not self._is_late:
            self._fs.files[self._path] = self._data

    def hsync(self) -> None:
        self._fs.meet("hsync")

    def close(self) -> None:
        self._fs.meet("close")
        if self._is_late:
            self._fs.files[self._path] = self._data


class Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def readNBytes(self, count: int) -> bytes:  # noqa: N802
        part, self._data = self._data[:count], self._data[count:]
        return part

    def close(self) -> None:
        pass


class FileSystem:
    """As much of Hadoop's as storage calls. ``failing`` is the step that throws."""

    def __init__(self, *, is_whole_on_close: bool = False) -> None:
        self.files: dict[str, bytes] = {}
        self.failing = ""
        self.refuses: set[str] = set()
        self.has_hsync = True
        self.done: list[str] = []
        self._is_late = is_whole_on_close

    def meet(self, step: str) -> None:
        self.done.append(step)
        if step == self.failing:
            raise OSError(errno.EIO, f"java.io.IOException: {step} failed")

    def hasPathCapability(self, path: str, name: str) -> bool:  # noqa: N802
        return False

    def create(self, path: str, overwrite: bool) -> Stream:
        self.meet("create")
        if path in self.files and not overwrite:
            raise OSError(errno.EEXIST, "org.apache.hadoop.fs.FileAlreadyExistsException")
        return Stream(self, path, is_whole_on_close=self._is_late)

    def open(self, path: str) -> Bytes:
        if path not in self.files:
            raise OSError(errno.ENOENT, "java.io.FileNotFoundException")
        return Bytes(self.files[path])

    def exists(self, path: str) -> bool:
        return path in self.files

    def delete(self, path: str, recursive: bool) -> bool:
        self.meet("delete")
        return "delete" not in self.refuses and self.files.pop(path, None) is not None

    def mkdirs(self, path: str) -> bool:
        return "mkdirs" not in self.refuses

    def rename(self, source: str, target: str, *options: object) -> bool:
        self.meet("rename")
        if "rename" in self.refuses:
            return False
        if target in self.files and not options:
            return False
        self.files[target] = self.files.pop(source)
        return True


class Hadoop:
    def __init__(self, fs: FileSystem, *, has_context: bool = True) -> None:
        self.fs = fs
        self._has_context = has_context

    def path(self, address: str) -> str:
        return address.rstrip("/")

    def filesystem(self, address: str) -> FileSystem:
        return self.fs

    def context(self, address: str) -> FileSystem | None:
        return self.fs if self._has_context else None

    def overwriting(self) -> str:
        return "OVERWRITE"


def _folder(fs: FileSystem, scheme: str = "hdfs", **how: bool) -> HadoopFolder:
    made: Any = Hadoop(fs, **how)
    return HadoopFolder(made, f"{scheme}://there/a")


@pytest.mark.parametrize("step", ["create", "write", "hsync", "close", "rename"])
def test_a_step_that_fails_is_an_error_and_the_old_file_stays(step: str) -> None:
    fs = FileSystem()
    folder = _folder(fs)
    folder.replace_atomically("f", b"old")
    fs.failing = step
    with pytest.raises(StorageError, match=f"{step} failed") as found:
        folder.replace_atomically("f", b"new")
    assert found.value.code == "WR802"
    assert "hdfs://there/a/f" in found.value.message
    assert found.value.hint
    assert fs.files == {"hdfs://there/a/f": b"old"}


def test_the_target_is_never_deleted() -> None:
    fs = FileSystem()
    folder = _folder(fs)
    folder.replace_atomically("f", b"old")
    folder.replace_atomically("f", b"new")
    assert "delete" not in fs.done
    assert fs.done[-5:] == ["create", "write", "hsync", "close", "rename"]


def test_a_rename_that_answers_false_is_an_error() -> None:
    """A file system without the newer interface: its rename does not throw."""
    fs = FileSystem()
    folder = _folder(fs, has_context=False)
    fs.refuses = {"rename"}
    with pytest.raises(StorageError, match=r"WR802.*refused to rename"):
        folder.replace_atomically("f", b"new")
    assert fs.files == {}


def test_a_file_system_that_cannot_replace_is_refused() -> None:
    fs = FileSystem()
    folder = _folder(fs, has_context=False)
    folder.replace_atomically("f", b"old")
    with pytest.raises(StorageError, match="WR810"):
        folder.replace_atomically("f", b"new")
    assert fs.files == {"hdfs://there/a/f": b"old"}


def test_a_folder_that_is_not_made_is_an_error() -> None:
    fs = FileSystem()
    fs.refuses = {"mkdirs"}
    with pytest.raises(StorageError, match="did not make the folder"):
        _folder(fs).prepare()


def test_a_file_that_is_not_removed_is_an_error() -> None:
    fs = FileSystem()
    folder = _folder(fs)
    folder.replace_atomically("f", b"old")
    fs.refuses = {"delete"}
    with pytest.raises(StorageError, match="did not remove"):
        folder.remove("f")


def test_hsync_is_not_asked_of_streams_that_have_none() -> None:
    fs = FileSystem()
    fs.has_hsync = False
    folder = _folder(fs)
    folder.replace_atomically("f", b"new")
    assert "hsync" not in fs.done
    assert folder.read("f") == b"new"


@pytest.mark.parametrize("step", ["create", "write", "close"])
def test_on_an_object_store_what_is_not_closed_is_not_there(step: str) -> None:
    fs = FileSystem(is_whole_on_close=True)
    folder = _folder(fs, "s3a")
    folder.replace_atomically("f", b"old")
    fs.failing = step
    with pytest.raises(StorageError, match=f"{step} failed"):
        folder.replace_atomically("f", b"new")
    assert fs.files == {"s3a://there/a/f": b"old"}
    assert "rename" not in fs.done
    assert "delete" not in fs.done


def test_an_object_store_without_conditional_writes_is_refused() -> None:
    with pytest.raises(StorageError, match="WR810") as found:
        _folder(FileSystem(is_whole_on_close=True), "s3a").create_exclusively("f", b"1")
    assert "s3a://" in str(found.value.hint)


def test_an_answer_that_got_lost_does_not_lose_the_file() -> None:
    """The store took the file and the connection broke: the second try is refused, and yet the file is ours."""

    class Forgetful(FileSystem):
        def hasPathCapability(self, path: str, name: str) -> bool:  # noqa: N802
            return name == CONDITIONAL_CREATE

        def createFile(self, path: str) -> Forgetful:  # noqa: N802
            self._wanted = path
            return self

        def must(self, name: str, value: bool) -> Forgetful:
            assert (name, value) == (CONDITIONAL_CREATE, True)
            return self

        def build(self) -> Any:
            fs, path = self, self._wanted

            class Lost(Stream):
                def close(self) -> None:
                    if path not in fs.files:
                        fs.files[path] = self._data
                    raise OSError(errno.EIO, "412 Precondition Failed")

            return Lost(fs, path, is_whole_on_close=True)

    folder = _folder(Forgetful(is_whole_on_close=True), "s3a")
    assert folder.create_exclusively("f", b"mine")
    assert not folder.create_exclusively("f", b"another's")
    assert folder.read("f") == b"mine"
