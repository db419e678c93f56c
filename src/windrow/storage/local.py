"""Folders on a local disk, or on what is mounted like one. Everything is forced to the disk before it counts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windrow.storage.errors import read_error, reason_of, write_error
from windrow.storage.filesystem import FileStatus, Folder, temporary_name


class LocalFolder(Folder):
    is_local = True

    def __init__(self, path: Path | str) -> None:
        self._root = os.path.abspath(path)
        self.path = self._root

    def _at(self, name: str) -> str:
        return os.path.join(self._root, name) if name else self._root

    def uri(self, name: str = "") -> str:
        return f"file:{self._at(name)}"

    def child(self, name: str) -> LocalFolder:
        return LocalFolder(self._at(name))

    def make(self, name: str = "") -> None:
        with self._writing(name):
            _make_folder(self._at(name))

    def exists(self, name: str) -> bool:
        return os.path.lexists(self._at(name))

    def entries(self, name: str = "") -> list[str]:
        with self._reading(name):
            try:
                return sorted(os.listdir(self._at(name)))
            except FileNotFoundError:
                return []

    def names(self) -> list[str]:
        with self._reading(""):
            try:
                with os.scandir(self._root) as found:
                    return sorted(entry.name for entry in found if not entry.name.startswith(".") and entry.is_file())
            except FileNotFoundError:
                return []

    def status(self, name: str) -> FileStatus:
        with self._reading(name):
            found = os.stat(self._at(name))
        return FileStatus(found.st_size, found.st_mtime)

    def read(self, name: str) -> bytes:
        with self._reading(name), open(self._at(name), "rb") as file:
            return file.read()

    def replace_atomically(self, name: str, data: bytes, *, durable: bool = True) -> None:
        target, temporary = self._at(name), self._at(temporary_name(name))
        with self._writing(name):
            try:
                _write(temporary, data, os.O_TRUNC, durable=durable)
                os.replace(temporary, target)
                if durable:
                    # A rename is durable only once the folder itself is.
                    _sync(os.path.dirname(target))
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def create_exclusively(self, name: str, data: bytes) -> bool:
        target = self._at(name)
        with self._writing(name):
            try:
                _write(target, data, os.O_EXCL)
            except FileExistsError:
                return False
            _sync(os.path.dirname(target))
        return True

    def write_new(self, name: str, data: bytes) -> None:
        with self._writing(name):
            _write(self._at(name), data, os.O_TRUNC)

    def append(self, name: str, data: bytes) -> None:
        with self._writing(name):
            _write(self._at(name), data, os.O_APPEND, durable=False)

    def make_durable(self, name: str = "") -> None:
        with self._writing(name):
            _sync(self._at(name))

    def move(self, source: str, target: str) -> None:
        with self._writing(target):
            os.replace(self._at(source), self._at(target))

    def remove(self, name: str) -> None:
        path = self._at(name)
        with self._writing(name):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def for_workers(self) -> LocalFolder:
        """Whether they mount it is another question."""
        return self

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise write_error(self._at(name), reason_of(error), error.errno or 0) from error

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise read_error(self._at(name), reason_of(error), error.errno or 0) from error


def _write(path: str, data: bytes, flags: int, *, durable: bool = True) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    except FileNotFoundError:
        _make_folder(os.path.dirname(path))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _make_folder(path: str) -> None:
    """A new folder's name is durable once the folder above it is."""
    above = os.path.dirname(path)
    if os.path.isdir(path):
        return
    if above != path:
        _make_folder(above)
    try:
        os.mkdir(path)
    except FileExistsError:
        # Another thread or process was quicker; anything that is no folder is an error.
        if not os.path.isdir(path):
            raise
        return
    # A folder that may be written but not read cannot be opened for this.
    with suppress(PermissionError):
        _sync(above)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
