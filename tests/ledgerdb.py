"""A connector for tests whose system goes away, gets slow or refuses, as files beside its database say; it takes each batch once.

``PATH.away``: nobody answers. ``PATH.stuck``: a write comes back when the file is gone. ``PATH.broken``: it is refused for good.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Connector, Output, Refused, Sink, SinkRequest
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec
from windrow.errors import JobError, OutageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "ledgerdb"
SPEC = ConnectorSpec(
    name=NAME,
    summary="a database for tests",
    runtime="tests.ledgerdb:LedgerDb",
    sink=(OptionSpec("path", OptionKind.PATH, "the database", is_required=True, example="out.db"),),
)


def install() -> None:
    """Make the connector known to this process."""
    own: Any = CONNECTORS.own()
    own[NAME] = SPEC


def uninstall() -> None:
    own: Any = CONNECTORS.own()
    own.pop(NAME, None)


@dataclass
class LedgerDbSink(Sink):
    path: str
    writer: str

    def open(self) -> None:
        self._answer()
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS batches (writer TEXT, batch INTEGER, PRIMARY KEY (writer, batch))")
            db.execute("CREATE TABLE IF NOT EXISTS lines (place INTEGER PRIMARY KEY AUTOINCREMENT, writer TEXT, batch INTEGER, line TEXT)")

    def _answer(self) -> None:
        if Path(f"{self.path}.away").exists():
            raise OutageError("WR877", "the database does not answer")
        if Path(f"{self.path}.broken").exists():
            raise JobError("WR876", "the database refuses the rows")
        while Path(f"{self.path}.stuck").exists():
            threading.Event().wait(0.02)

    def write(self, output: Output) -> Sequence[Refused]:
        self._answer()
        table = output.table
        if table is None:
            assert output.frame is not None
            table = output.frame.toArrow()
        rows = table.select(list(output.columns)).to_pylist()
        with closing(sqlite3.connect(self.path, timeout=60)) as db, db:
            last = db.execute("SELECT MAX(batch) FROM batches WHERE writer = ?", (self.writer,)).fetchone()[0]
            if last is not None and output.batch_id < last:
                raise JobError("WR878", f"the database holds batch {last}, and this is batch {output.batch_id}")
            if last != output.batch_id:
                db.execute("INSERT INTO batches VALUES (?, ?)", (self.writer, output.batch_id))
                lines = [(self.writer, output.batch_id, json.dumps(row, default=str)) for row in rows]
                db.executemany("INSERT INTO lines (writer, batch, line) VALUES (?, ?, ?)", lines)
        return ()


class LedgerDb(Connector):
    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return LedgerDbSink(request.options["path"], f"{request.job}/{request.statement}")


def lines(path: str | Path) -> list[dict[str, Any]]:
    """All rows, in the order in which they were written."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT line FROM lines ORDER BY place").fetchall()
    return [json.loads(line) for (line,) in found]
