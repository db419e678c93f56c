"""What Spark's workers need of a folder: whole files by name, in a place that Python reaches without Java, and that can be sent there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Files(Protocol):
    """A part of ``Folder``. Every failure is a ``StorageError``."""

    @property
    def path(self) -> str: ...

    def child(self, name: str, /) -> Files: ...

    def names(self) -> list[str]:
        """The names of the files that are not hidden, sorted; nothing where the folder does not exist."""

    def read(self, name: str, /) -> bytes: ...

    def replace_atomically(self, name: str, data: bytes, /) -> None:
        """Put a whole, durable file in the place of what was there; its folder is made."""

    def remove(self, name: str, /) -> None:
        """Remove a file; nothing happens where it does not exist."""


@dataclass(frozen=True)
class NotForWorkers:
    """Why the workers cannot reach a folder themselves."""

    reason: str
