"""Where the Parquet files of each table of telemetry are, below a base folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from windrow.otap.tables import PART_ID, TABLES
from windrow.storage.readable import ReadableFolder

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
        self._folder = ReadableFolder(address, "WR880")
        self.is_there = self._folder.is_there
        # Files that were found whole. An exporter does not write to such a file again, so nothing more is asked about it.
        self._whole: dict[str, Listed] = {}

    def trust(self, file: Listed) -> None:
        """A file is whole: as long as it is there, it is as it was."""
        self._whole[file.path] = file

    def open(self, path: str) -> pa.NativeFile:
        return self._folder.open(path)

    def damage(self, error: Exception) -> str:
        """Why a file cannot be used. Where it is the storage that failed and not the file, the error is raised again.

        Arrow tells of damaged content without a number of the system; a store far away may fail without one, too, so there only what
        Arrow itself finds invalid, or a file that is gone, is taken for damage.
        """
        is_far = not self._folder.is_local
        is_storage = isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and (is_far or error.errno is not None)
        if is_storage:
            raise error
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__

    def list_table(self, table: str) -> list[Listed]:
        """The Parquet files of a table, wherever the layout puts them: ``logs/_part_id=X/``, ``logs/`` or ``X/logs/``."""
        return sorted(self._listed(table), key=lambda file: file.path)

    def _listed(self, table: str) -> Iterator[Listed]:
        # Folders that are no table are partitions, where they stand above the tables.
        others = [name for name in self._folder.folders() if name not in TABLES]
        for folder in (table, *(f"{name}/{table}" for name in others)):
            for found in self._folder.files(folder, self._whole):
                if found.size is None or found.mtime is None:
                    yield self._whole[found.path]
                elif found.path.endswith(_SUFFIX):
                    # A file that is still being uploaded has something after its ending.
                    yield Listed(table, part_of(found.path.rpartition("/")[0], table), found.path, found.size, found.mtime)


@lru_cache(maxsize=65_536)
def part_of(folder: str, table: str) -> str:
    """Whose ids the ids in the files of a folder are.

    >>> part_of("logs/_part_id=a1", "logs"), part_of("A/logs", "logs"), part_of("logs", "logs")
    ('a1', 'A', '')
    """
    folders = folder.split("/")
    named = [name.partition("=")[2] for name in folders if name.startswith(f"{PART_ID}=")]
    return named[0] if named else "/".join(name for name in folders if name != table)
