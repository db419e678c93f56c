"""The records of a job's batches in its folder, oldest first. Read without Spark.

A batch that is there twice, because the job went back to an earlier one, counts as it was written last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from windrow.jobs.line_log import LineLog, line_files, lines_of
from windrow.observe.batch_record import BatchRecord, JobNote
from windrow.storage import Folder

_BACK_TO, _NOTE = "back_to", "note"


class BatchRecordLog(LineLog):
    """Writes the records of one run."""

    def __init__(self, folder: Folder, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(folder, "batches", clock)

    def write(self, record: BatchRecord) -> None:
        self.add({**record.to_json()})

    def note(self, note: JobNote) -> None:
        self.add({_NOTE: note.to_json()})
        self.flush()

    def go_back_to(self, batch_id: int) -> None:
        """The job was taken back: what is told of later batches no longer counts."""
        self.add({_BACK_TO: batch_id})
        self.flush()


def read_records(folder: Folder, newest: int | None = None) -> list[BatchRecord]:
    """The records in a folder, oldest first: all of them, or the ``newest`` ones. A line that a crash has cut is left out."""
    entries: list[dict[str, Any]] = []
    settled: list[dict[str, Any]] = []
    for name in reversed(line_files(folder)):
        entries = [*_entries(folder.read(name)), *entries]
        settled = _settled(entries)
        if newest is not None and len(settled) >= newest:
            break
    kept = settled if newest is None else settled[len(settled) - min(newest, len(settled)) :]
    return [BatchRecord.from_json(one) for one in kept]


def read_notes(folder: Folder) -> list[JobNote]:
    """What states the job came into, oldest first, as far back as the newest file goes."""
    return [JobNote.from_json(entry[_NOTE]) for name in line_files(folder)[-1:] for entry in _entries(folder.read(name)) if _NOTE in entry]


def _entries(data: bytes) -> Iterator[dict[str, Any]]:
    return (told for told in lines_of(data) if {_BACK_TO, _NOTE, "batch_id"} & told.keys())


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
