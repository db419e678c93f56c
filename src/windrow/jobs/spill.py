"""Rows that wait for an output, in the state folder: one file a batch, and how far they have been delivered.

A file is durable before the change file of its batch is. Only batches that were committed are delivered, oldest first; what a killed run
left of a batch that will run again is removed. ``delivered.json`` says how far delivery has come, so that a file whose removal was lost
with the power is not delivered again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO

import pyarrow as pa
import pyarrow.ipc as ipc

from windrow.errors import JobError
from windrow.storage import Folder

SPILL = "spill"
_MARK, _ENDING, _ELSEWHERE = "delivered.json", ".arrow", ".elsewhere"
_HEADER = b"windrow"


@dataclass(frozen=True)
class Waiting:
    """A batch that waits. ``since`` is seconds since the epoch."""

    batch_id: int
    rows: int
    bytes: int
    since: float


@dataclass(frozen=True)
class Packed:
    waiting: Waiting
    data: bytes


class SpillFolder:
    """What waits for one output. A job without any has no such folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.path = folder.path
        self.delivered = -1

    def recover(self, committed: int) -> list[Waiting]:
        """At the start: what waits, oldest first, without what belongs to a batch that will run again."""
        self._folder.remove_leftovers()
        self.delivered = self._read_mark()
        there: list[Waiting] = []
        for name in self._folder.names():
            number = _number(name, _ENDING)
            if number is None:
                continue
            if number > committed or number <= self.delivered:
                self._folder.remove(name)
            else:
                there.append(self._header(name, number))
        return there

    def is_empty(self) -> bool:
        return not any(name.endswith(_ENDING) for name in self._folder.names())

    @staticmethod
    def pack(batch_id: int, columns: tuple[str, ...], table: pa.Table, now: float) -> Packed:
        """The rows of a batch as they will stand in their file."""
        header = {"batch_id": batch_id, "columns": list(columns), "rows": table.num_rows, "since": now}
        labelled = table.replace_schema_metadata({**(table.schema.metadata or {}), _HEADER: json.dumps(header).encode()})
        buffer = BytesIO()
        with ipc.new_file(buffer, labelled.schema, options=ipc.IpcWriteOptions(compression="zstd")) as out:
            out.write_table(labelled)
        data = buffer.getvalue()
        return Packed(Waiting(batch_id, table.num_rows, len(data), now), data)

    def put(self, packed: Packed) -> None:
        """Make the rows of a batch durable; a batch that runs again replaces them."""
        self._folder.replace_atomically(_name(packed.waiting.batch_id), packed.data)

    def read(self, batch_id: int) -> tuple[tuple[str, ...], pa.Table]:
        """The visible columns of a batch that waits, and its rows."""
        table = self._opened(_name(batch_id)).read_all()
        header = json.loads(table.schema.metadata[_HEADER])
        left = {key: value for key, value in table.schema.metadata.items() if key != _HEADER}
        return tuple(header["columns"]), table.replace_schema_metadata(left or None)

    def remove(self, batch_id: int) -> None:
        """The batch was delivered."""
        self._mark(batch_id)
        self._folder.remove(_name(batch_id))

    def note_elsewhere(self, batch_id: int) -> None:
        """The rows of a batch go to another output: should it run again, they go there again."""
        self._folder.replace_atomically(f"{batch_id:010d}{_ELSEWHERE}", b"")

    def went_elsewhere(self) -> set[int]:
        return {number for name in self._folder.names() if (number := _number(name, _ELSEWHERE)) is not None}

    def forget_elsewhere(self, batch_id: int) -> None:
        self._folder.remove(f"{batch_id:010d}{_ELSEWHERE}")

    def forget_after(self, batch_id: int) -> None:
        """The job goes back to a batch: later ones come again."""
        for name in self._folder.names():
            number = _number(name, _ENDING)
            number = _number(name, _ELSEWHERE) if number is None else number
            if number is not None and number > batch_id:
                self._folder.remove(name)
        if self._read_mark() > batch_id:
            self._mark(batch_id)

    def _mark(self, batch_id: int) -> None:
        self._folder.replace_atomically(_MARK, json.dumps({"batch_id": batch_id}).encode())
        self.delivered = batch_id

    def _read_mark(self) -> int:
        if _MARK not in self._folder.names():
            return -1
        try:
            return int(json.loads(self._folder.read(_MARK))["batch_id"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(_MARK) from error

    def _header(self, name: str, number: int) -> Waiting:
        header = json.loads(self._opened(name).schema.metadata[_HEADER])
        return Waiting(number, header["rows"], self._folder.status(name).size, header["since"])

    def _opened(self, name: str) -> ipc.RecordBatchFileReader:
        try:
            return ipc.open_file(pa.BufferReader(self._folder.read(name)))
        except pa.ArrowInvalid as error:
            raise self._damaged(name) from error

    def _damaged(self, name: str) -> JobError:
        hint = "restore the file from a backup; to give its rows up, remove it and run again"
        return JobError("WR833", f"{self._folder.path}/{name}, which holds rows that wait for an output, is damaged", hint)


def _name(batch_id: int) -> str:
    return f"{batch_id:010d}{_ENDING}"


def _number(name: str, ending: str) -> int | None:
    number = name.removesuffix(ending)
    return int(number) if name.endswith(ending) and number.isdigit() else None
