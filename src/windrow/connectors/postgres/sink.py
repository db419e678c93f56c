"""Batches as transactions: the rows and the number of their batch become visible together, or not at all.

A batch that runs again finds its number and changes nothing. Rows with a key go through a staging table, so that of several
rows of one key the last counts, and a retraction deletes; rows without one are copied straight in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import psycopg
import pyarrow as pa

from windrow.connectors.keys import key_columns
from windrow.connectors.marked_rows import GONE, PLACE, RetractedError, RowsFailedError
from windrow.connectors.postgres.added_rows import AddedRows
from windrow.connectors.postgres.commits import Commits
from windrow.connectors.postgres.failures import classify, explain
from windrow.connectors.postgres.refusing import from_json, to_json, write_apart
from windrow.connectors.postgres.rows import csv_of, row_batches
from windrow.connectors.postgres.settings import Connection, SinkSettings, quoted
from windrow.connectors.postgres.target import Target, check_target, create_text, find_target
from windrow.connectors.postgres.types import ColumnType, from_spark
from windrow.connectors.runtime import Output, Refused, Sink, SinkRequest
from windrow.errors import JobError, UsageError, WindrowError
from windrow.model.types import UNKNOWN, ColumnDef
from windrow.resilience import FailureClass, Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_STAGE = "windrow_stage"
# A job that starts while the server is away says so soon; one that runs waits for as long as it was told to.
_OPEN_SECONDS = 30.0


def open_sink(spark: SparkSession, request: SinkRequest) -> PostgresSink:
    return PostgresSink(spark, request)


def misfit(request: SinkRequest) -> str | None:
    """Whether the table takes the columns of the output, as far as their types are known before the query is analysed."""
    try:
        settings = SinkSettings.of(request.options)
        key = key_of(request)
        with settings.server.connect() as connection:
            target = find_target(connection, settings.table)
            if target is None:
                version = connection.info.server_version
                text = create_text(settings.table, request.columns, key, version)
                return None if settings.creates else f"there is no table {settings.table} in {settings.server.system} ({text})"
            check_target(target, request.columns, key)
    except psycopg.Error:
        # Away, or not ours to look at: the sink itself says so when it opens.
        return None
    except UsageError as error:
        return error.message if error.hint is None else f"{error.message} ({error.hint})"
    return None


def key_of(request: SinkRequest) -> tuple[str, ...]:
    """The columns by which rows are replaced; none where rows are only added."""
    return key_columns(request, "insert", "WR874")


class PostgresSink(Sink):
    def __init__(self, spark: SparkSession, request: SinkRequest) -> None:
        self._spark = spark
        self._settings = SinkSettings.of(request.options)
        self._statement = request.statement
        self._columns = request.columns
        self._key = key_of(request)
        self._commits = Commits(self._settings.commits, request.job, request.statement)
        self._added = AddedRows.beside(self._settings.commits, request.job, request.statement)
        self._has_notes = False
        self._stopping = request.stopping
        self._connection: Connection | None = None
        self._has_stage = False
        self._turn = 0
        self._target: Target | None = None
        # What is known of the output's types before it is computed is checked at the start, all of it with the first rows.
        self._is_proven = False

    def open(self) -> None:
        """Connect, take the job's turn, and see that the table fits, before any row is read."""
        self._guard(_OPEN_SECONDS, is_opening=True).call(f"open the table {self._settings.table}", lambda: self._in_transaction(self._open))

    def _open(self, connection: Connection) -> None:
        self._turn = self._commits.take_turn(connection)
        self._has_notes = not self._key and self._added.make_ready(connection)
        is_known = all(column.type != UNKNOWN for column in self._columns)
        if is_known or not self._settings.creates:
            self._target = self._make_ready(connection, self._columns)

    def write(self, output: Output) -> Sequence[Refused]:
        if output.table is not None and output.table.num_rows == 0:
            return ()
        what = f"write batch {output.batch_id} of {self._statement} to {self._settings.table}"
        guard = self._guard(0 if self._settings.policy == "fail" else self._settings.server.retry_seconds)
        try:
            return self._write_batch(guard, what, output)
        except WindrowError as error:
            cause = error.__cause__
            if isinstance(cause, RowsFailedError) and cause.__cause__ is not None:
                # The fault of the query, for which others have better words.
                raise cause.__cause__ from None
            if isinstance(cause, RetractedError):
                raise self._no_retraction() from None
            raise

    def _write_batch(self, guard: Guard, what: str, output: Output) -> Sequence[Refused]:
        def attempt(*, is_apart: bool) -> Sequence[Refused]:
            return guard.call(what, lambda: self._in_transaction(lambda connection: self._write(connection, output, is_apart=is_apart)))

        try:
            return attempt(is_apart=False)
        except WindrowError as error:
            cause = error.__cause__
            if self._settings.policy != "dead_letter" or cause is None or classify(cause) is not FailureClass.DATA:
                raise
        return attempt(is_apart=True)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
        self._connection, self._has_stage = None, False

    def _guard(self, seconds: float, *, is_opening: bool = False) -> Guard:
        server = self._settings.server
        rule = RetryRule(give_up_after=seconds)
        return Guard(server.system, classify, lambda error, what: explain(error, what, server), rule, self._stopping, is_opening=is_opening)

    def _in_transaction(self, action: Callable[[Connection], T]) -> T:
        """On a connection that is kept between batches. After a failure the next attempt has a new one."""
        try:
            if self._connection is None:
                self._connection = self._settings.server.connect()
            with self._connection.transaction():
                return action(self._connection)
        except BaseException:
            self.close()
            raise

    def _make_ready(self, connection: Connection, columns: tuple[ColumnDef, ...]) -> Target:
        name = self._settings.table
        target = find_target(connection, name)
        create = create_text(name, columns, self._key, connection.info.server_version)
        if target is None and self._settings.creates:
            connection.execute(create)
            target = find_target(connection, name)
        if target is None:
            raise UsageError(
                "WR872", f"there is no table {name} in {self._settings.server.system}", f"{create}; or 'table.create' = 'true'"
            )
        check_target(target, columns, self._key)
        return target

    def _write(self, connection: Connection, output: Output, *, is_apart: bool) -> Sequence[Refused]:
        """``is_apart``: rows that are refused are left out, and the others written."""
        last = self._commits.last_batch(connection, self._turn)
        if last == output.batch_id:
            return from_json(self._commits.refused(connection))
        if last > output.batch_id:
            raise self._is_ahead(last, output.batch_id)
        if self._target is None or not self._is_proven:
            self._target, self._is_proven = self._make_ready(connection, _typed(self._spark, output)), True
        names = [self._name_of(column) for column in output.columns]
        targets = dict(zip(output.columns, (column.type for column in map(self._target.column, names) if column is not None), strict=True))
        rows = row_batches(output, targets, is_keyed=bool(self._key))
        if self._key:
            self._make_stage(connection, names)

        def put(batches: Iterator[pa.RecordBatch]) -> int:
            if self._key:
                self._upsert(connection, names, batches, targets)
                return 0
            return _copy(connection, str(self._settings.table), names, batches, targets)

        if not is_apart:
            self._note(connection, output.batch_id, last, put(rows), is_whole=True)
            return ()

        def put_part(batch: pa.RecordBatch) -> None:
            put(iter([batch]))
            if self._key:
                connection.execute(f"TRUNCATE {_STAGE}")

        refused = write_apart(connection, rows, put_part)
        self._note(connection, output.batch_id, last, 0, is_whole=False, refused=to_json(refused))
        return from_json(self._commits.refused(connection))

    def _note(self, connection: Connection, batch_id: int, before: int, rows: int, *, is_whole: bool, refused: str | None = None) -> None:
        if self._has_notes:
            self._added.note(connection, batch_id, before, rows, is_whole=is_whole)
        self._commits.note(connection, batch_id, refused)

    def _name_of(self, column: str) -> str:
        assert self._target is not None
        there = self._target.column(column)
        return column if there is None else there.name

    def _make_stage(self, connection: Connection, names: list[str]) -> None:
        """Once a connection, outside of any savepoint."""
        if not self._has_stage:
            rows = f"SELECT {_listed(names)}, NULL::boolean AS {GONE}, NULL::numeric AS {PLACE} FROM {self._settings.table}"
            connection.execute(f"CREATE TEMPORARY TABLE {_STAGE} ON COMMIT DELETE ROWS AS {rows} WITH NO DATA")
            self._has_stage = True

    def _upsert(self, connection: Connection, names: list[str], batches: Iterator[pa.RecordBatch], targets: dict[str, ColumnType]) -> None:
        table, listed = self._settings.table, _listed(names)
        _copy(connection, _STAGE, [*names, GONE, PLACE], _in_stage_order(batches), targets)
        key = [self._name_of(part) for part in self._key]
        last = f"(SELECT DISTINCT ON ({_listed(key)}) * FROM {_STAGE} ORDER BY {_listed(key)}, {PLACE} DESC)"
        has_null = " OR ".join(f"s.{quoted(name)} IS NULL" for name in key)
        equal = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in key)
        same = " AND ".join(f"t.{quoted(name)} IS NOT DISTINCT FROM s.{quoted(name)}" for name in key)
        # A unique constraint does not see that two NULLs are the same key, so such rows are replaced by hand.
        connection.execute(f"DELETE FROM {table} t USING {last} s WHERE s.{GONE} AND {equal}")
        if connection.execute(f"SELECT EXISTS (SELECT 1 FROM {_STAGE} s WHERE {has_null})").fetchall()[0][0]:
            connection.execute(f"DELETE FROM {table} t USING {last} s WHERE ({has_null}) AND {same}")
        others = [name for name in names if name not in key]
        change = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in others)
        action = f"UPDATE SET {change}" if change else "NOTHING"
        connection.execute(
            f"INSERT INTO {table} ({listed}) SELECT {listed} FROM {last} s WHERE NOT s.{GONE} ON CONFLICT ({_listed(key)}) DO {action}"
        )

    def _is_ahead(self, last: int, batch_id: int) -> JobError:
        return JobError(
            "WR878",
            f"the table {self._settings.table} holds batch {last} of {self._statement}, and the job is at batch {batch_id}",
            "the state folder is older than the table: restore the newer one, or take the job back with windrow state restore",
        )

    def _no_retraction(self) -> JobError:
        return JobError(
            "WR879",
            f"{self._statement} takes a row back, and rows of {self._settings.table} have no key by which it could be found",
            "mark a key, SELECT k PRIMARY KEY, or name it: 'key' = 'k'; the table needs a unique constraint on it",
        )


def _in_stage_order(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in rows:
        others = [name for name in batch.schema.names if name not in (GONE, PLACE)]
        yield batch.select([*others, GONE, PLACE])


def _copy(connection: Connection, table: str, names: list[str], rows: Iterator[pa.RecordBatch], targets: dict[str, ColumnType]) -> int:
    """Gives how many rows went in."""
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY {table} ({_listed(names)}) FROM STDIN (FORMAT csv)") as copy:
            for batch in rows:
                copy.write(csv_of(batch, targets))
        return cursor.rowcount


def _listed(names: list[str]) -> str:
    return ", ".join(map(quoted, names))


def _typed(spark: SparkSession, output: Output) -> tuple[ColumnDef, ...]:
    """The columns with the types that Spark found when it analysed the query."""
    frame = output.frame
    if frame is None:
        assert output.table is not None
        frame = spark.createDataFrame(output.table.select(list(output.columns)).slice(0, 0))
    return tuple(ColumnDef(name, from_spark(frame.schema[name].dataType)) for name in output.columns)
