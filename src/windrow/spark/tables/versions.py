"""What was in force when: the loads of tables that are refreshed, each durable before the first batch that sees it.

A batch that runs again after a crash must find the tables as it found them, so a load is a file named by the batch. A restarted
job takes its tables from here and asks the source only for what has changed since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import JobError
from windrow.spark.state.state_file import TornFileError, decode, encode
from windrow.storage import Folder, folder_name

# Everything a load gave; what it gave on top of what was there; all that was held after a batch, in the place of the loads before.
WHOLE, PART, BASE = "whole", "part", "base"
_NAME = re.compile(rf"(\d{{10}})\.({WHOLE}|{PART}|{BASE})$")
# Where a table is read back from more loads than this, the rows that are held are written once more.
_MOST_PARTS = 20
_ROWS, _GONE = "rows", "gone"


@dataclass(frozen=True)
class TableVersion:
    """``rows`` are as they were read, bad ones among them; of a base, as they are held. ``gone`` are those that a part takes back."""

    batch_id: int
    kind: str
    rows: pa.Table
    offset: str | None
    gone: pa.Table | None = None


class TableVersions:
    def __init__(self, folder: Folder, retain: int = 100) -> None:
        self._folder = folder
        self._retain = retain

    def save(self, table: str, version: TableVersion) -> None:
        header: dict[str, Any] = {"table": table, "offset": version.offset}
        tables = {_ROWS: version.rows, **({} if version.gone is None else {_GONE: version.gone})}
        self._of(table).replace_atomically(_file_name(version.batch_id, version.kind), encode(header, tables))

    def load(self, table: str, up_to: int) -> list[TableVersion]:
        """What to put together, in order, to have the table as batch ``up_to`` saw it; nothing where no load was kept."""
        there = [(batch, kind) for batch, kind in self._there(table) if batch <= up_to]
        wanted = there[_start(there) :]
        return [self._read(table, batch, kind) for batch, kind in wanted]

    def settle(self, table: str, batch_id: int, held: pa.Table, offset: str | None) -> None:
        """After a committed batch: put many small loads into one, and let go of what no batch that is kept needs."""
        there = self._there(table)
        if len(there) - _start(there) > _MOST_PARTS:
            self.save(table, TableVersion(batch_id, BASE, held, offset))
            there = self._there(table)
        old = [entry for entry in there if entry[0] <= batch_id - self._retain]
        for batch, kind in there[: max(_start(old), 0)]:
            self._of(table).remove(_file_name(batch, kind))

    def forget_after(self, table: str, batch_id: int) -> None:
        for batch, kind in self._there(table):
            if batch > batch_id:
                self._of(table).remove(_file_name(batch, kind))

    def _of(self, table: str) -> Folder:
        return self._folder.child(folder_name(table))

    def _there(self, table: str) -> list[tuple[int, str]]:
        """In the order in which they are put together; a base holds the load of its own batch already."""
        order = (PART, WHOLE, BASE)
        found = (_NAME.match(name) for name in self._of(table).names())
        return sorted(((int(match[1]), match[2]) for match in found if match), key=lambda entry: (entry[0], order.index(entry[1])))

    def _read(self, table: str, batch_id: int, kind: str) -> TableVersion:
        folder = self._of(table)
        name = _file_name(batch_id, kind)
        try:
            header, tables = decode(folder.read(name), f"the file {name} of the table {table} in {folder.path}")
        except TornFileError as error:
            hint = "restore the folder from a backup, or start with a new --state folder"
            raise JobError("WR812", f"the file {name} of the table {table} in {folder.path} is damaged", hint) from error
        return TableVersion(batch_id, kind, tables[_ROWS], header["offset"], tables.get(_GONE))


def _start(there: list[tuple[int, str]]) -> int:
    """Where the newest whole one stands; 0 where there is none."""
    return max((index for index, (_, kind) in enumerate(there) if kind != PART), default=0)


def _file_name(batch_id: int, kind: str) -> str:
    return f"{batch_id:010d}.{kind}"
