"""Files below a base folder, on a local disk or on any file system that Arrow can open by its address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from windrow.errors import UsageError
from windrow.otap.tables import PART_ID, TABLES

_SUFFIX = ".parquet"


@dataclass(frozen=True)
class Listed:
    """A file as a listing shows it. ``path`` is relative to the base folder; ``part_id`` is empty where no folder names one."""

    table: str
    part_id: str
    path: str
    size: int
    mtime: int


class Base:
    """The folder that holds one folder for each table."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            if "://" in address:
                # Hadoop's name for what everybody else calls s3.
                self.files, self.root = pafs.FileSystem.from_uri(address.replace("s3a://", "s3://", 1))
            else:
                self.files, self.root = pafs.LocalFileSystem(), str(Path(address).absolute())
            info = self.files.get_file_info(self.root)
        except (pa.ArrowException, OSError, ValueError) as error:
            hint = "a folder, or an address that Arrow can open: s3://, gs://, abfss://, hdfs://"
            raise UsageError("WR880", f"cannot open {address}: {str(error).splitlines()[0]}", hint) from error
        self.is_there = info.type == pafs.FileType.Directory
        # Files that were found whole. An exporter does not write to such a file again, so nothing more is asked about it.
        self._whole: dict[str, Listed] = {}

    def trust(self, file: Listed) -> None:
        """A file is whole: as long as it is there, it is as it was."""
        self._whole[file.path] = file

    def open(self, path: str) -> pa.NativeFile:
        return self.files.open_input_file(f"{self.root}/{path}")

    def damage(self, error: Exception) -> str:
        """Why a file cannot be used. Where it is the storage that failed and not the file, the error is raised again.

        Arrow tells of damaged content without a number of the system; a store far away may fail without one, too, so there only what
        Arrow itself finds invalid, or a file that is gone, is taken for damage.
        """
        is_far = not isinstance(self.files, pafs.LocalFileSystem)
        is_storage = isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and (is_far or error.errno is not None)
        if is_storage:
            raise error
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__

    def list_table(self, table: str) -> list[Listed]:
        """The Parquet files of a table, wherever the layout puts them: ``logs/_part_id=X/``, ``logs/`` or ``X/logs/``."""
        return sorted(self._listed(table), key=lambda file: file.path)

    def _listed(self, table: str) -> Iterator[Listed]:
        for folder in (table, *(f"{name}/{table}" for name in self._other_folders())):
            if isinstance(self.files, pafs.LocalFileSystem):
                # Size and time are a call to the system for each file, which takes longer than anything else here.
                yield from self._local(table, folder)
                continue
            for info in self.files.get_file_info(pafs.FileSelector(f"{self.root}/{folder}", allow_not_found=True, recursive=True)):
                # A file that is still being uploaded has something after its ending.
                if info.is_file and info.path.endswith(_SUFFIX):
                    own = info.path[len(self.root) :].lstrip("/")
                    yield Listed(table, part_of(own.rpartition("/")[0], table), own, info.size, info.mtime_ns or 0)

    def _local(self, table: str, folder: str) -> Iterator[Listed]:
        try:
            entries = os.scandir(f"{self.root}/{folder}")
        except (FileNotFoundError, NotADirectoryError):
            return
        part = part_of(folder, table)
        with entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if (known := self._whole.get(path)) is not None:
                    yield known
                elif entry.is_dir():
                    yield from self._local(table, path)
                elif entry.name.endswith(_SUFFIX) and (info := _size_and_time(entry)) is not None:
                    yield Listed(table, part, path, *info)

    def _other_folders(self) -> list[str]:
        """Folders that are no table: partitions, where they stand above the tables."""
        selector = pafs.FileSelector(self.root, allow_not_found=True)
        return [info.base_name for info in self.files.get_file_info(selector) if not info.is_file and info.base_name not in TABLES]


def _size_and_time(entry: os.DirEntry[str]) -> tuple[int, int] | None:
    try:
        info = entry.stat()
    except FileNotFoundError:
        return None  # gone since it was listed
    return info.st_size, info.st_mtime_ns


@lru_cache(maxsize=65_536)
def part_of(folder: str, table: str) -> str:
    """Whose ids the ids in the files of a folder are.

    >>> part_of("logs/_part_id=a1", "logs"), part_of("A/logs", "logs"), part_of("logs", "logs")
    ('a1', 'A', '')
    """
    folders = folder.split("/")
    named = [name.partition("=")[2] for name in folders if name.startswith(f"{PART_ID}=")]
    return named[0] if named else "/".join(name for name in folders if name != table)
