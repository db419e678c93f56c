"""The interface of storage: a folder whose files are written whole or not at all."""

from __future__ import annotations

import hashlib
import re
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass

from windrow.storage.files import Files, NotForWorkers

# Tells the temporary files of this process from those of another driver that writes to the same folder.
_WRITER = uuid.uuid4().hex[:12]
_TEMPORARY = re.compile(r"^\..+\.[0-9a-f]{12}\.tmp$")


@dataclass(frozen=True)
class FileStatus:
    """``modified`` is in seconds since the epoch."""

    size: int
    modified: float


class Folder(ABC):
    """A folder on some file system. Names are relative to it, with ``/`` between parts. Every failure is a ``StorageError``.

    ``path`` is the folder's address as a person writes it: a plain path on a local disk, a URI elsewhere.
    """

    path: str
    is_local: bool

    @abstractmethod
    def uri(self, name: str = "") -> str:
        """The full address with its scheme, which means the same file to Spark whatever its default file system is."""

    @abstractmethod
    def child(self, name: str) -> Folder: ...

    @abstractmethod
    def make(self, name: str = "") -> None:
        """Make a folder and those above it. Writing a file makes its folder, too."""

    @abstractmethod
    def exists(self, name: str) -> bool: ...

    @abstractmethod
    def entries(self, name: str = "") -> list[str]:
        """The names of all files and folders, sorted; nothing where the folder does not exist."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of the files that are not hidden, sorted."""

    @abstractmethod
    def status(self, name: str) -> FileStatus: ...

    @abstractmethod
    def read(self, name: str) -> bytes: ...

    @abstractmethod
    def replace_atomically(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Put a whole file in the place of what was there. A reader sees the old file or the new one, also after a crash.

        When this returns, the new file survives a crash, unless ``durable`` is false.
        """

    @abstractmethod
    def create_exclusively(self, name: str, data: bytes) -> bool:
        """Write a durable file if there is none of that name. Of all who try, one gets True; a reader may see it empty for a moment."""

    @abstractmethod
    def write_new(self, name: str, data: bytes) -> None:
        """Write a durable file that nobody reads yet; its name becomes durable with ``make_durable`` of its folder."""

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, which is made if missing. Not durable: a crash may take the last of it, or cut it.

        Where files cannot grow, the file is written anew, so whoever appends keeps it small.
        """
        self.replace_atomically(name, (self.read(name) if self.exists(name) else b"") + data, durable=False)

    @abstractmethod
    def make_durable(self, name: str = "") -> None:
        """Make a file that somebody else wrote, or the names in a folder, survive a crash."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Give a file another name, in the place of what was there. The target is never missing in between."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file or a whole folder; nothing happens where it does not exist."""

    @abstractmethod
    def for_workers(self) -> Files | NotForWorkers:
        """The same folder as the Python of Spark's workers reaches it."""

    def prepare(self) -> None:
        """Make the folder and prove that it can be written, before anything depends on it."""
        self.make()
        probe = f".probe{temporary_name('')}"
        self.write_new(probe, b"")
        self.remove(probe)

    def remove_leftovers(self) -> None:
        """Remove temporary files of writers that were killed. Only the owner of the folder may: others may be writing theirs."""
        for name in self.entries():
            if _TEMPORARY.match(name):
                self.remove(name)


def temporary_name(name: str) -> str:
    """A hidden name beside the target, which no other process uses."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}.{last}.{_WRITER}.tmp"


def folder_name(name: str) -> str:
    """A name of ours, such as a job's, as the name of a folder: readable, and never one folder for two names.

    >>> folder_name("candles"), folder_name("a b")
    ('candles', 'a-b-c8687a08')
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:60]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
