"""The records of a job's batches in its folder: lines of JSON, the oldest of which make room for new ones. Read without Spark.

Each run of a job writes files of its own, named by the time it began, so files stand in the order of writing. A batch that is there
twice, because the job went back to an earlier one, counts as it was written last.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from windrow.observe.batch_record import BatchRecord, JobNote
from windrow.storage import Folder, StorageError

_log = logging.getLogger(__name__)

# A file is closed when it has grown to this, and the oldest go when there are more than so many bytes or files of them.
FILE_BYTES = 1 << 20
MOST_BYTES = 16 << 20
MOST_FILES = 64
# Where a file cannot grow it is written anew for every line: such files are small, and lines wait for each other.
REMOTE_FILE_BYTES = 128 << 10
REMOTE_SECONDS = 5.0
_BACK_TO, _NOTE = "back_to", "note"


@dataclass
class _Open:
    """The file that is being written: what it holds, and the lines that wait to be added."""

    name: str
    size: int = 0
    waiting: bytes = b""


class BatchRecordLog:
    """Writes the records of one run. A failure to write is logged once and never stops the job."""

    def __init__(self, folder: Folder, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._began = time.time_ns() // 1_000_000
        self._number = 0
        self._file: _Open | None = None
        self._due = clock()
        self._has_failed = False

    def write(self, record: BatchRecord) -> None:
        self._add({**record.to_json()})

    def note(self, note: JobNote) -> None:
        self._add({_NOTE: note.to_json()})
        self.flush()

    def go_back_to(self, batch_id: int) -> None:
        """The job was taken back: what is told of later batches no longer counts."""
        self._add({_BACK_TO: batch_id})
        self.flush()

    def flush(self) -> None:
        """Write what waits, at the end of a run."""
        self._guarded(self._flush)

    def _add(self, told: dict[str, object]) -> None:
        line = (json.dumps(told, separators=(",", ":"), ensure_ascii=False) + "\n").encode()
        self._guarded(lambda: self._take(line))

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            write()
        except StorageError as error:
            self.tell_failure(error.reason)

    def tell_failure(self, reason: str) -> None:
        """Log, once a run, that records are missing."""
        if not self._has_failed:
            _log.warning("batches cannot be recorded in %s: %s; the job goes on without that", self._folder.path, reason)
        self._has_failed = True

    def _take(self, line: bytes) -> None:
        if self._file is None or self._file.size >= (FILE_BYTES if self._folder.is_local else REMOTE_FILE_BYTES):
            self._flush()
            self._make_room()
            self._file = _Open(f"{self._began:013d}-{self._number:06d}.jsonl")
            self._number += 1
        self._file.waiting += line
        self._file.size += len(line)
        if self._folder.is_local or self._clock() >= self._due:
            self._flush()

    def _flush(self) -> None:
        if self._file is None or not self._file.waiting:
            return
        waiting, self._file.waiting = self._file.waiting, b""
        self._due = self._clock() + REMOTE_SECONDS
        self._folder.append(self._file.name, waiting)

    def _make_room(self) -> None:
        names = _files(self._folder)
        sizes = {name: self._folder.status(name).size for name in names}
        while names and (len(names) >= MOST_FILES or sum(sizes[name] for name in names) > MOST_BYTES - FILE_BYTES):
            self._folder.remove(names.pop(0))


def read_records(folder: Folder, newest: int | None = None) -> list[BatchRecord]:
    """The records in a folder, oldest first: all of them, or the ``newest`` ones. A line that a crash has cut is left out."""
    entries: list[dict[str, Any]] = []
    settled: list[dict[str, Any]] = []
    for name in reversed(_files(folder)):
        entries = [*_entries(folder.read(name)), *entries]
        settled = _settled(entries)
        if newest is not None and len(settled) >= newest:
            break
    kept = settled if newest is None else settled[len(settled) - min(newest, len(settled)) :]
    return [BatchRecord.from_json(one) for one in kept]


def read_notes(folder: Folder) -> list[JobNote]:
    """What states the job came into, oldest first, as far back as the newest file goes."""
    return [JobNote.from_json(entry[_NOTE]) for name in _files(folder)[-1:] for entry in _entries(folder.read(name)) if _NOTE in entry]


def _files(folder: Folder) -> list[str]:
    return [name for name in folder.names() if name.endswith(".jsonl")]


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and ({_BACK_TO, _NOTE, "batch_id"} & told.keys()):
            yield told


def _settled(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each batch once: what was written later is of a job that had gone back."""
    there: list[dict[str, Any]] = []
    for entry in entries:
        if _NOTE in entry:
            continue
        first_undone = entry["batch_id"] if "batch_id" in entry else entry[_BACK_TO] + 1
        while there and there[-1]["batch_id"] >= first_undone:
            there.pop()
        if "batch_id" in entry:
            there.append(entry)
    return there
