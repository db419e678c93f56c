"""Batches as commits of a table: each with its number in the commit itself, so that one that was made is not made again.

A commit is made on top of the state that was looked at, and fails where another came in between; then it is looked again. So no
batch is in the table twice, not even where a driver that was believed dead writes beside the one that took over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from windrow.connectors.lake.fitting import check_fit, fitted, schema_of
from windrow.connectors.lake.rows import BatchRows, batch_rows
from windrow.connectors.lake.settings import LakeSettings
from windrow.connectors.lake.store import LakeStore, LakeTable, Writing
from windrow.connectors.marked_rows import RetractedError, RowsFailedError
from windrow.connectors.runtime import Output, Sink, SinkRequest
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import Guard, RetryRule

T = TypeVar("T")
NO_TABLE, IS_AHEAD, NOT_TAKEN_BACK, FAILED = "WR912", "WR915", "WR916", "WR917"
_OPEN_SECONDS = 30.0


def writer_of(request: SinkRequest) -> str:
    """What the batches of a statement of a job are known by in a table."""
    return f"windrow/{request.job}/{request.statement}"


class LakeSink(Sink):
    def __init__(self, request: SinkRequest, store: LakeStore, settings: LakeSettings) -> None:
        self._request = request
        self._store = store
        self._settings = settings
        self._writer = writer_of(request)

    def open(self) -> None:
        """See that the table is there and fits, or make it, before any row is read; where types are not known yet, with the first rows."""
        self._guarded(_OPEN_SECONDS, f"open the table {self._store.name}", self._open, is_opening=True)

    def write(self, output: Output) -> None:
        what = f"write batch {output.batch_id} to the table {self._store.name}"
        try:
            rows = batch_rows(output, self._settings.key)
        except RowsFailedError as error:
            if error.__cause__ is not None:
                # The fault of the query, for which others have better words.
                raise error.__cause__ from None
            raise
        except RetractedError:
            raise self._no_retraction() from None
        if rows is None or rows.is_empty:
            return
        writing = Writing(self._writer, output.batch_id)
        self._guarded(self._settings.retry_seconds, what, lambda: self._write(rows, writing))

    def _guarded(self, seconds: float, what: str, action: Callable[[], T], *, is_opening: bool = False) -> T:
        store = self._store

        def explain(error: BaseException, what: str) -> WindrowError:
            hint = "see that the store can be reached and written, then start the job again: it goes on with this batch"
            return JobError(FAILED, f"could not {what}: {store.said(error)}", hint)

        rule = RetryRule(longest=5.0, give_up_after=seconds)
        return Guard(store.system, store.classify, explain, rule, self._request.stopping, is_opening=is_opening).call(what, action)

    def _open(self) -> None:
        table = self._store.open()
        schema = schema_of(self._request.columns)
        if table is None and not self._settings.creates:
            raise UsageError(NO_TABLE, f"there is no table {self._store.name}", "create it, or write 'table.create' = 'true'")
        if table is None and schema is not None:
            self._store.create(schema)
        elif table is not None and schema is not None:
            check_fit(table.name, table.schema, schema, self._settings.key)

    def _write(self, rows: BatchRows, writing: Writing) -> None:
        table = self._table(rows)
        last = table.last_batch(writing.writer)
        if last == writing.batch_id:
            return
        if last > writing.batch_id:
            raise self._is_ahead(last, writing.batch_id)
        check_fit(table.name, table.schema, rows.rows.schema, self._settings.key)
        fitting = fitted(rows.rows, table.schema)
        if rows.gone is None:
            table.append(fitting, writing)
        else:
            key = [_spelled(table, part) for part in self._settings.key]
            table.replace(fitting, fitted(rows.gone, table.schema).select(key), key, writing)

    def _table(self, rows: BatchRows) -> LakeTable:
        table = self._store.open()
        if table is None and self._settings.creates:
            self._store.create(rows.rows.schema)
            table = self._store.open()
        if table is None:
            raise JobError(NO_TABLE, f"the table {self._store.name} is gone", "bring it back, and start the job again")
        return table

    def _is_ahead(self, last: int, batch_id: int) -> JobError:
        return JobError(
            IS_AHEAD,
            f"the table {self._store.name} holds batch {last} of {self._request.statement}, and the job is at batch {batch_id}",
            "the state folder is older than the table: restore the newer one, or take the job back with windrow state restore",
        )

    def _no_retraction(self) -> JobError:
        return JobError(
            NOT_TAKEN_BACK,
            f"{self._request.statement} takes a row back, and rows of {self._store.name} have no key by which it could be found",
            "mark a key, SELECT k PRIMARY KEY, or name it: 'key' = 'k'",
        )


def misfit(store: LakeStore, request: SinkRequest) -> str | None:
    """Whether the table takes the columns of the output, as far as their types are known before the query is analysed."""
    try:
        settings = LakeSettings.of(request)
        table, schema = store.open(), schema_of(request.columns)
        if table is None:
            return None if settings.creates else f"there is no table {store.name}"
        if schema is not None:
            check_fit(table.name, table.schema, schema, settings.key)
    except UsageError as error:
        return error.message if error.hint is None else f"{error.message} ({error.hint})"
    except Exception:
        # Away, or not ours to look at: the sink itself says so when it opens.
        return None
    return None


def forget_after(store: LakeStore, request: SinkRequest, batch_id: int) -> None:
    """Let the batches after ``batch_id`` be written again. Rows with a key will be replaced by themselves; others cannot be told apart."""
    table, writer = store.open(), writer_of(request)
    last = -1 if table is None else table.last_batch(writer)
    if table is None or last <= batch_id:
        return
    if not LakeSettings.of(request).key:
        raise UsageError(
            NOT_TAKEN_BACK,
            f"rows are only added to {store.name}, so those of batches {batch_id + 1} to {last} cannot be taken back",
            "take the table back to the version before them, and the job to the same batch; or write to a new table",
        )
    table.note(Writing(writer, batch_id))


def _spelled(table: LakeTable, part: str) -> str:
    return next(str(name) for name in table.schema.names if name.lower() == part.lower())
