"""A table of the database as reference data: one JSON text a row, so that it is decoded and judged like any other source."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from psycopg import sql

from windrow.connectors.postgres.failures import classify, explain
from windrow.connectors.postgres.settings import Connection, Server, TableName, quoted
from windrow.connectors.postgres.target import Target, find_target
from windrow.connectors.runtime import SourceRequest, SourceStream
from windrow.errors import NotThereError, UsageError, WindrowError
from windrow.model.types import BINARY, ColumnDef
from windrow.resilience import Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS_AT_ONCE = 20_000
# Whoever loads tables waits and tries again itself, for as long as 'table.wait.timeout' says.
_SECONDS = 5.0
_SCHEMA = pa.schema(
    [
        ("_raw", pa.string()),
        ("_timestamp", pa.timestamp("us", tz="UTC")),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("_topic", pa.string()),
        ("_key", pa.string()),
        ("_headers", pa.map_(pa.string(), pa.string())),
        ("_seq", pa.int64()),
    ]
)


@dataclass(frozen=True)
class _Since:
    """How far the refresh column had come, as PostgreSQL spells it, and a digest of the rows that stood just there.

    Rows with the very value are asked for again, because others with it may have come since; the digest tells when none have.
    Without such a column the value is None, and the digest is of all rows.
    """

    value: str | None
    digest: str

    def text(self) -> str:
        return json.dumps([self.value, self.digest])


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    server = Server.of(request.options)
    rule = RetryRule(give_up_after=min(_SECONDS, server.retry_seconds))
    guard = Guard(server.system, classify, lambda error, what: _explain(error, what, server), rule, request.stopping)
    name = TableName.of(request.options)
    since = None if request.since is None else _Since(*json.loads(request.since))
    loaded = guard.call(f"load the table {name}", lambda: _load(server, name, request, since))
    frame = spark.createDataFrame(loaded.rows)
    is_unchanged = loaded.found == since
    return SourceStream(frame, 1, "json", offset=loaded.found.text(), is_increment=loaded.is_increment, is_unchanged=is_unchanged)


def _explain(error: BaseException, what: str, server: Server) -> WindrowError:
    """A server that is away may come back; whoever loads tables knows how long to wait."""
    found = explain(error, what, server)
    return NotThereError(found.code, found.message, found.hint) if classify(error).is_worth_trying_again else found


@dataclass(frozen=True)
class _Loaded:
    rows: pa.Table
    found: _Since
    is_increment: bool


def _load(server: Server, name: TableName, request: SourceRequest, since: _Since | None) -> _Loaded:
    with server.connect() as connection:
        # All of a load sees the table at one moment.
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        target = find_target(connection, name)
        if target is None:
            hint = "check 'schema' and 'table', or wait for it longer: 'table.wait.timeout' = '5m'"
            raise NotThereError("WR872", f"there is no table {name} in {server.system}", hint)
        ordered_by = _refresh_column(target, request)
        is_increment = ordered_by is not None and since is not None and since.value is not None
        from_value = sql.Literal(since.value).as_string(connection) if since is not None and is_increment else ""
        query = _query(target, request.columns, ordered_by, from_value)
        request.progress(0, None if is_increment else _estimate(connection, name))
        rows, found = _fetch(connection, query, str(name), request.progress)
        return _Loaded(rows, since if since is not None and is_increment and not rows.num_rows else found, is_increment)


def _fetch(connection: Connection, query: str, name: str, progress: Callable[[int, int | None], None]) -> tuple[pa.Table, _Since]:
    tables: list[pa.Table] = []
    count, value, digest = 0, None, hashlib.sha256()
    with connection.cursor("windrow_load") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        cursor.execute(query)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            tables.append(_table([row[0] for row in rows], name, count))
            count += len(rows)
            progress(count, None)
            for raw, at in rows:
                if at != value:
                    value, digest = at, hashlib.sha256()
                digest.update(raw.encode() + b"\n")
    return pa.concat_tables(tables) if tables else _SCHEMA.empty_table(), _Since(value, digest.hexdigest())


def _table(raw: list[str], name: str, first: int) -> pa.Table:
    count = len(raw)
    numbers = pa.array(range(first, first + count), pa.int64())
    known: dict[str, Any] = {
        "_raw": pa.array(raw, pa.string()),
        "_offset": numbers,
        "_seq": numbers,
        "_topic": pa.array([name] * count, pa.string()),
    }
    known["_partition"] = pa.array([0] * count, pa.int32())
    return pa.table([known.get(field.name, pa.nulls(count, field.type)) for field in _SCHEMA], schema=_SCHEMA)


def _query(target: Target, columns: tuple[ColumnDef, ...], ordered_by: str | None, from_value: str) -> str:
    """Each row as JSON, and the value of the refresh column as text; in its order where there is one."""
    cells = ", ".join(f"{_cell(target, column)} AS {quoted(column.name)}" for column in columns)
    at = f"t.{quoted(ordered_by)}" if ordered_by is not None else None
    text = f"row_to_json((SELECT r FROM (SELECT {cells}) r))::text"
    where = f" WHERE {at} >= {from_value}" if from_value else ""
    order = f" ORDER BY {at} NULLS FIRST, 1" if at is not None else ""
    return f"SELECT {text}, {'NULL' if at is None else f'{at}::text'} FROM {target.name} t{where}{order}"


def _cell(target: Target, column: ColumnDef) -> str:
    there = target.column(column.name)
    if there is None:
        names = [known.name for known in target.columns]
        close = difflib.get_close_matches(column.name.lower(), names, 1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise UsageError("WR873", f"the table {target.name} has no column {quoted(column.name)}", f"{meant}it has: {', '.join(names)}")
    cell = f"t.{quoted(there.name)}"
    # JSON has no bytes: ours are base64, PostgreSQL's would be hexadecimal.
    return f"translate(encode({cell}, 'base64'), E'\\n', '')" if column.type == BINARY else cell


def _refresh_column(target: Target, request: SourceRequest) -> str | None:
    written = request.options.get("refresh.column")
    if written is None:
        return None
    there = target.column(written)
    if there is None:
        names = ", ".join(known.name for known in target.columns)
        raise UsageError("WR873", f"the table {target.name} has no column {quoted(written)} to refresh by", f"it has: {names}")
    return there.name


def _estimate(connection: Connection, name: TableName) -> int | None:
    """How many rows there may be, as the database believes; None where it has not counted yet."""
    found = connection.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", (str(name),)).fetchall()
    return int(found[0][0]) if found and found[0][0] >= 0 else None
