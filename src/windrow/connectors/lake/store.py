"""What a table format has to do for its sink and its source: one class for each, over the format's own library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.resilience import FailureClass

if TYPE_CHECKING:
    import pyarrow as pa

# Where nothing was written yet.
NO_BATCH = -1


@dataclass(frozen=True)
class Writing:
    """Which batch of whom a commit is. ``writer`` tells a statement of a job from all others."""

    writer: str
    batch_id: int


class LakeTable(ABC):
    """A table as it was when it was opened. Whoever commits over a change that came since must fail, and is opened again."""

    name: str
    schema: pa.Schema
    # Tells one state of the table from another.
    version: str

    @abstractmethod
    def last_batch(self, writer: str) -> int:
        """The last batch of a writer that is in the table, or ``NO_BATCH``."""

    @abstractmethod
    def append(self, rows: pa.Table, writing: Writing) -> None: ...

    @abstractmethod
    def replace(self, rows: pa.Table, gone: pa.Table, key: Sequence[str], writing: Writing) -> None:
        """Put rows in the place of those with their key; ``gone`` are the keys of rows that are taken away. Each key is there once."""

    @abstractmethod
    def note(self, writing: Writing) -> None:
        """Write down that a batch is the last of its writer, with no rows."""

    @abstractmethod
    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, with these columns of the table."""


class LakeStore(ABC):
    """Where a table is. Its methods raise what the format's library raises, which ``classify`` and ``said`` understand."""

    # What the table is called in messages, and the system that it is in.
    name: str
    system: str

    @abstractmethod
    def open(self) -> LakeTable | None:
        """The table as it is now; None where there is none."""

    @abstractmethod
    def create(self, schema: pa.Schema) -> None:
        """Make an empty table. One that somebody else made in between is as good."""

    @abstractmethod
    def classify(self, error: BaseException) -> FailureClass: ...

    def said(self, error: BaseException) -> str:
        """What the library says, in one line."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return (lines[0] if lines else type(error).__name__)[:500]
