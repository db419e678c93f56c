"""What tests of the receiver drive: a receiver on a clock that is set by hand, and the short ways to files, rows, batches and answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tests.unit.otap.files import at
from windrow.jobs.window_queries import Views, WindowQuery, WindowResult, WindowTables, run_query
from windrow.otap.covers import Cover, Covering
from windrow.otap.discovery import DataFile, Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.layout import Base
from windrow.otap.links import reader_for
from windrow.otap.notes import Notes
from windrow.otap.rebuild.batches import to_batches
from windrow.otap.rebuild.collect import ROOTS, Choose, Collector, Tables
from windrow.otap.receiver import Receiver, Wanted
from windrow.otap.tables import timed_by
from windrow.otap.timing import MINUTE, Timing, Window
from windrow.otap.windows import Reading, Seen

C = Timing(10 * MINUTE, MINUTE, MINUTE, MINUTE)


WANTED = Wanted("logs", C, TimeRule(), "partition_unique")


class Rig:
    """A receiver over a folder, with a clock that is set by hand and a position as Spark would keep it."""

    def __init__(self, folder: Path, wanted: Wanted = WANTED) -> None:
        self.data = folder / "data"
        self.data.mkdir(exist_ok=True)
        self.folder = folder
        self.wanted = wanted
        self.now = 0
        self.done: int | None = None
        self.windows: list[tuple[int, list[int]]] = []
        self.start()

    def start(self) -> None:
        self.notes = Notes(self.folder / "notes")
        self.receiver = Receiver(Base(str(self.data)), self.wanted, self.notes, lambda: self.now)

    def step(self, crash: str | None = None) -> bool:
        """One batch, if there is one; ``crash`` ends it after the offset is known, or after the files are."""
        until = self.receiver.advance(self.done)
        if until == self.done or until is None:
            return False
        if crash is not None:
            if crash == "planned":
                self.receiver.plan(self.done, until)
            self.start()
            # Spark has noted the offset: the batch that runs again ends where the first one did.
        rows: list[int] = []
        for cover in self.receiver.plan(self.done, until):
            reading = Reading(self.wanted.table, self.wanted.rule, columns=frozenset({"id"}))
            table = reader_for(Base(str(self.data)), reading).read(cover)
            rows += [] if table is None else table["_placed"].to_pylist()
        self.windows.append((until, sorted(rows)))
        self.done = until
        return True

    def run(self, now: int) -> list[tuple[int, list[int]]]:
        self.now = now
        before = len(self.windows)
        while self.step():
            pass
        return self.windows[before:]

    def late(self) -> list[tuple[str, int, int]]:
        return [(Path(one.file).name, one.window.start, one.rows) for one in self.notes.late()]


LOGS = Reading("logs", ids="partition_unique")


def read(base: Path, window: Window, reading: Reading = LOGS) -> tuple[list[dict[str, Any]], Seen]:
    """The rows of a window, with maps as dicts, and what was seen on the way."""
    discovery = Discovery(Base(str(base)), FooterCache(), Timing(), reading.rule)
    covers = Covering(discovery, reading.table, reading.ids).covers(discovery.timed_files(timed_by(reading.table)), window)
    reader = reader_for(Base(str(base)), reading)
    tables = [table for table in map(reader.read, covers) if table is not None]
    return [_plain(row, cover) for table, cover in zip(tables, covers, strict=False) for row in _rows(table)], reader.seen


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    numbers = [column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column for column in table.columns]
    found: list[dict[str, Any]] = pa.Table.from_arrays(numbers, names=table.column_names).to_pylist()
    return found


def _plain(row: dict[str, Any], cover: Cover) -> dict[str, Any]:
    maps = {name: dict(value) for name, value in row.items() if name.endswith("attributes")}
    return {**row, **maps, "part": cover.part_id}


def minute(text: str) -> Window:
    return Window(at(text), at(text) + MINUTE)


BY_DEFAULT = TimeRule()


def found(base: Path, table: str = "logs", cache: FooterCache | None = None, rule: TimeRule = BY_DEFAULT) -> list[DataFile]:
    return Discovery(Base(str(base)), cache or FooterCache(), Timing(), rule).timed_files(table)


def names(files: list[DataFile]) -> list[str]:
    return [file.path.rpartition("/")[2] for file in files]


MINUTE_1347 = Window(at("13:47"), at("13:48"))


def collector(base: Path, signal: str = "logs", choose: Choose = lambda rows: rows, ids: Any = "partition_unique") -> Collector:
    discovery = Discovery(Base(str(base)), FooterCache(), Timing(), TimeRule())
    return Collector(Base(str(base)), discovery, signal, Reading(ROOTS[signal], ids=ids), choose)


def batches(base: Path, **options: Any) -> list[tuple[str, Tables]]:
    return [(part, batch) for part, tables in collector(base, **options).windows(MINUTE_1347) for batch in to_batches("logs", tables)]


def ask(base: Path, sql: str, bounds: Window, execute: Any = None, **options: Any) -> list[WindowResult]:
    """A query over each window between the bounds."""
    query, timing = WindowQuery(sql), Timing()
    discovery = Discovery(Base(str(base)), FooterCache(), timing, TimeRule())
    tables = WindowTables(Base(str(base)), discovery, timing, query.tables, "partition_unique")
    return list(run_query(query, tables, bounds, execute or answer, **options))


def answer(sql: str, views: Views, _parameters: Mapping[str, Any]) -> pa.Table:
    """The answer of Polars, which has no maps, in the place of Spark's."""
    frames = {name: pl.DataFrame(pl.from_arrow(rows.select(_without_maps(rows.schema)))) for name, rows in views.items()}
    return pl.SQLContext(frames).execute(sql, eager=True).to_arrow()


def _without_maps(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if not pa.types.is_map(field.type)]
