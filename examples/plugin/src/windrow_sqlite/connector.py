"""SQLite as a sink, as reference data and as a stream."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.connectors.runtime import NO_PROVENANCE, SEQ, Connector, Output, Sink, SinkRequest, SourceRequest, SourceStream
from windrow.errors import NotThereError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCHES = "CREATE TABLE IF NOT EXISTS windrow_batches (job TEXT, statement TEXT, batch INTEGER, PRIMARY KEY (job, statement))"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class SqliteConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        path, table = Path(request.options["path"]), request.options["table"]
        if not path.exists():
            raise NotThereError("SQLITE1", f"there is no database {path}", "make it, or mend 'path'")
        if not request.is_table:
            return self._stream(spark, request)
        names = [column.name for column in request.columns]
        types = ", ".join(f"`{column.name}` {column.type}" for column in request.columns)
        with closing(sqlite3.connect(path)) as database:
            try:
                rows = database.execute(f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table)}").fetchall()
            except sqlite3.OperationalError as error:
                raise UsageError("SQLITE2", f"{path}: {error}", "declare the columns that the table has") from error
        numbered = [(*row, number, number) for number, row in enumerate(rows)]
        frame = spark.createDataFrame(numbered, f"{types}, `{SEQ}` BIGINT, `_offset` BIGINT")
        return SourceStream(frame, 1, None, {**NO_PROVENANCE, "_topic": "CAST(NULL AS STRING)"})

    def _stream(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        from windrow_sqlite.stream import FORMAT, TableStream

        spark.dataSource.register(TableStream)
        types = ", ".join(f"`{column.name}` {column.type}" for column in request.columns)
        options = {
            "path": request.options["path"],
            "table": request.options["table"],
            "schema": f"{types}, `{SEQ}` BIGINT, `_offset` BIGINT",
        }
        frame = spark.readStream.format(FORMAT).options(**options).load()
        return SourceStream(frame, 1, None, {**NO_PROVENANCE, "_topic": "CAST(NULL AS STRING)"})

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        return SqliteSink(request)


class SqliteSink(Sink):
    """Rows and the number of their batch are one transaction, so a batch that comes again is known."""

    def __init__(self, request: SinkRequest) -> None:
        self._request = request

    def open(self) -> None:
        with closing(self._connect()) as database, database:
            database.execute(_BATCHES)
            columns = ", ".join(quoted(column.name) for column in self._request.columns)
            database.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})")

    def write(self, output: Output) -> None:
        table = output.table if output.table is not None else self._collected(output)
        rows = [tuple(row[name] for name in output.columns) for row in table.select(list(output.columns)).to_pylist()]
        with closing(self._connect()) as database, database:
            if self._last_batch(database) >= output.batch_id:
                return
            names, marks = ", ".join(map(quoted, output.columns)), ", ".join("?" * len(output.columns))
            database.executemany(f"INSERT INTO {self._table} ({names}) VALUES ({marks})", rows)
            own = (self._request.job, self._request.statement, output.batch_id)
            database.execute("INSERT OR REPLACE INTO windrow_batches VALUES (?, ?, ?)", own)

    @property
    def _table(self) -> str:
        return quoted(self._request.options["table"])

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._request.options["path"])

    def _collected(self, output: Output) -> Any:
        assert output.frame is not None
        return output.frame.toArrow()

    def _last_batch(self, database: sqlite3.Connection) -> int:
        asked = "SELECT batch FROM windrow_batches WHERE job = ? AND statement = ?"
        found = database.execute(asked, (self._request.job, self._request.statement)).fetchone()
        return -1 if found is None else int(found[0])
