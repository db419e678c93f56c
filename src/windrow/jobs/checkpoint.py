"""What Spark's own checkpoint says: which batch was committed last, when a batch arrived, and which files were promised to none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from windrow.errors import JobError
from windrow.spark.internals.checkpoint_log import DamagedEntryError, OffsetEntry, lists_files, need_version
from windrow.storage import Folder


class Checkpoint:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder.child("checkpoint")
        self._commits = self._folder.child("commits")
        self._offsets = self._folder.child("offsets")
        # With its scheme, so that Spark takes it for the folder that we read.
        self.uri = self._folder.uri()
        # Of the batch that was asked for last: its time and its offsets are asked for one after the other.
        self._read: tuple[int, OffsetEntry] | None = None

    def last_committed(self) -> int:
        """-1 where no batch was."""
        return max(_numbers(self._commits), default=-1)

    def has_begun(self) -> bool:
        """Whether any batch was planned."""
        return self.last_planned() >= 0

    def last_planned(self) -> int:
        """The last batch that was begun: committed, or to be run again. -1 where none was."""
        return max(_numbers(self._offsets), default=-1)

    def restorable(self) -> set[int]:
        """Batches of which Spark still knows how far the sources had been read."""
        return _numbers(self._commits) & _numbers(self._offsets)

    def go_back_to(self, batch_id: int) -> None:
        """Make Spark believe that this batch was the last."""
        for log in (self._commits, self._offsets):
            for number in _numbers(log):
                if number > batch_id:
                    _remove(log, str(number))

    def has_planned(self, batch_id: int) -> bool:
        """Whether Spark has noted what this batch reads."""
        return batch_id in _numbers(self._offsets)

    def plan_empty(self, batch_id: int, now_ms: int) -> None:
        """Note a batch that reads nothing of any source: it ends where the one before it did."""
        text = self._entry(batch_id - 1).text_at(now_ms)
        _remove(self._offsets, str(batch_id))
        self._offsets.replace_atomically(str(batch_id), text.encode())

    def commit_empty(self, batch_id: int) -> None:
        before = self._commits.read(str(batch_id - 1))
        need_version(before.decode().partition("\n")[0], f"commits/{batch_id - 1}")
        _remove(self._commits, str(batch_id))
        self._commits.replace_atomically(str(batch_id), before)

    def arrival_of(self, batch_id: int) -> int:
        """Spark notes a batch's time in its offset log before the batch runs, so a batch that runs again sees the same."""
        with self._damage_told(batch_id):
            return self._entry(batch_id).arrival_ms * 1000

    def offsets_of(self, batch_id: int) -> list[dict[str, Any]]:
        """How far a batch reads each source, in the order of the query; empty for a source that Spark notes otherwise."""
        with self._damage_told(batch_id):
            return self._entry(batch_id).offsets

    def _entry(self, batch_id: int) -> OffsetEntry:
        """Spark writes the entry of a batch once, before the batch runs."""
        if self._read is None or self._read[0] != batch_id:
            with self._damage_told(batch_id):
                text = self._offsets.read(str(batch_id)).decode(errors="replace")
                self._read = batch_id, OffsetEntry.parse(text, f"offsets/{batch_id}")
        return self._read[1]

    @contextmanager
    def _damage_told(self, batch_id: int) -> Iterator[None]:
        try:
            yield
        except DamagedEntryError:
            hint = "start with a new --state folder"
            raise JobError("WR813", f"the offset log of batch {batch_id} in {self._folder.path} is damaged", hint) from None

    def forget_unplanned_files(self, sources: int) -> None:
        """Spark's file source notes the files of its next batch before the batch itself is noted. A kill between the two would
        put them into one batch with those that came after, so a restart could cut the input differently: they are listed again.
        """
        batches = _numbers(self._offsets)
        planned = self.offsets_of(max(batches)) if batches else []
        for number in range(sources):
            offset = planned[number] if number < len(planned) else {}
            log = self._folder.child(f"sources/{number}")
            for name in log.names():
                entry = name.removesuffix(".compact")
                if entry.isdigit() and int(entry) > offset.get("logOffset", -1) and lists_files(log.read(name)):
                    _remove(log, name)


def _numbers(log: Folder) -> set[int]:
    return {int(name) for name in log.names() if name.isdigit()}


def _remove(log: Folder, name: str) -> None:
    log.remove(name)
    log.remove(f".{name}.crc")
