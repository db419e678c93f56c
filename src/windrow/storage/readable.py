"""Folders that are only read, also by Python workers, which have no JVM: local disks, and what Arrow itself can open by its address."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from windrow.errors import UsageError
from windrow.storage.opening import local_path


@dataclass(frozen=True)
class FoundFile:
    """``path`` is relative to the folder that was listed. ``size`` and ``mtime`` (nanoseconds) are None where they were not asked for."""

    path: str
    size: int | None = None
    mtime: int | None = None


class ReadableFolder:
    def __init__(self, address: str, code: str) -> None:
        """``code`` is that of the error where the address cannot be opened."""
        self.address = address
        local = local_path(address)
        self.is_local = local is not None
        try:
            if local is not None:
                self._files, self._root = pafs.LocalFileSystem(), local
            else:
                # Hadoop's name for what everybody else calls s3.
                self._files, self._root = pafs.FileSystem.from_uri(address.replace("s3a://", "s3://", 1))
            info = self._files.get_file_info(self._root)
        except (pa.ArrowException, OSError, ValueError) as error:
            hint = "a folder, or an address that Arrow can open: s3://, gs://, abfss://, hdfs://"
            raise UsageError(code, f"cannot open {address}: {str(error).splitlines()[0]}", hint) from error
        self.is_there = info.type == pafs.FileType.Directory

    def open(self, path: str) -> pa.NativeFile:
        return self._files.open_input_file(f"{self._root}/{path}")

    def folders(self) -> list[str]:
        """The names of the folders right below."""
        selector = pafs.FileSelector(self._root, allow_not_found=True)
        return [info.base_name for info in self._files.get_file_info(selector) if not info.is_file]

    def files(self, folder: str, known: Container[str] = ()) -> Iterator[FoundFile]:
        """All files in and below a folder, nothing where it does not exist. Size and time of ``known`` ones may be left out."""
        if self.is_local:
            # Size and time are a call to the system for each file, which takes longer than anything else here.
            yield from self._local(folder, known)
            return
        for info in self._files.get_file_info(pafs.FileSelector(f"{self._root}/{folder}", allow_not_found=True, recursive=True)):
            if info.is_file:
                yield FoundFile(info.path[len(self._root) :].lstrip("/"), info.size, info.mtime_ns or 0)

    def _local(self, folder: str, known: Container[str]) -> Iterator[FoundFile]:
        try:
            entries = os.scandir(f"{self._root}/{folder}")
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if path in known:
                    yield FoundFile(path)
                elif entry.is_dir():
                    yield from self._local(path, known)
                else:
                    try:
                        info = entry.stat()
                    except FileNotFoundError:
                        continue  # gone since it was listed
                    yield FoundFile(path, info.st_size, info.st_mtime_ns)
