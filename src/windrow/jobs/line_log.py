"""A log in a folder of the state: files of JSON lines, the oldest of which make room for new ones. Read without Spark.

Each run writes files of its own, named by the time it began, so files stand in the order of writing.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windrow.storage import Folder, StorageError

_log = logging.getLogger(__name__)

# A file is closed when it has grown to this, and the oldest go when there are more than so many bytes or files of them.
FILE_BYTES = 1 << 20
MOST_BYTES = 16 << 20
MOST_FILES = 64
# Where a file cannot grow it is written anew for every line: such files are small, and lines wait for each other.
REMOTE_FILE_BYTES = 128 << 10
REMOTE_SECONDS = 5.0


@dataclass
class _Open:
    """The file that is being written: what it holds, and the lines that wait to be added."""

    name: str
    size: int = 0
    waiting: bytes = b""


class LineLog:
    """Writes the lines of one run, from any thread. A failure to write is logged once and never stops the job."""

    def __init__(self, folder: Folder, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._what = what
        self._clock = clock
        self._began = time.time_ns() // 1_000_000
        self._number = 0
        self._file: _Open | None = None
        self._due = clock()
        self._has_failed = False
        self._lock = threading.Lock()

    def add(self, told: Mapping[str, object]) -> None:
        line = (json.dumps(told, separators=(",", ":"), ensure_ascii=False, default=str) + "\n").encode()
        self._guarded(lambda: self._take(line))

    def flush(self) -> None:
        """Write what waits, at the end of a run."""
        self._guarded(self._flush)

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            with self._lock:
                write()
        except StorageError as error:
            self.tell_failure(error.reason)

    def tell_failure(self, reason: str) -> None:
        """Log, once a run, that lines are missing."""
        if not self._has_failed:
            _log.warning("%s cannot be recorded in %s: %s; the job goes on without that", self._what, self._folder.path, reason)
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
        names = line_files(self._folder)
        sizes = {name: self._folder.status(name).size for name in names}
        while names and (len(names) >= MOST_FILES or sum(sizes[name] for name in names) > MOST_BYTES - FILE_BYTES):
            self._folder.remove(names.pop(0))


def line_files(folder: Folder) -> list[str]:
    """The files of a log, oldest first."""
    return [name for name in folder.names() if name.endswith(".jsonl")]


def lines_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The lines of a file; one that a crash has cut is left out."""
    for line in data.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            yield told
