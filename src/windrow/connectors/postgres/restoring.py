"""Going back: what a job whose state is restored to an earlier batch may do with a table it has written to since."""

from __future__ import annotations

import psycopg

from windrow.connectors.postgres.added_rows import AddedRows
from windrow.connectors.postgres.commits import Commits
from windrow.connectors.postgres.failures import classify, explain
from windrow.connectors.postgres.settings import Connection, SinkSettings
from windrow.connectors.postgres.sink import key_of
from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.resilience import Guard, RetryRule

_SECONDS = 30.0


def forget_after(request: SinkRequest, batch_id: int) -> None:
    """Let the batches after ``batch_id`` be written again. Rows with a key will be replaced by themselves; others are taken away."""
    settings = SinkSettings.of(request.options)
    server = settings.server
    commits = Commits(settings.commits, request.job, request.statement)
    guard = Guard(server.system, classify, lambda error, what: explain(error, what, server), RetryRule(give_up_after=_SECONDS))

    def forget() -> None:
        with server.connect() as connection:
            last = commits.batch_in(connection)
            if last <= batch_id:
                return
            if not key_of(request):
                _take_away(connection, settings, commits, last, batch_id)
            commits.note(connection, batch_id)

    guard.call(f"take {settings.table} back to batch {batch_id}", forget)


def what_stays(request: SinkRequest) -> str | None:
    """Rows that were only added are taken away, all or none."""
    if not key_of(request):
        return None
    table = SinkSettings.of(request.options).table
    return f"rows of {table} keep the values of later batches until they are written again, and keys that only later batches gave stay"


def _take_away(connection: Connection, settings: SinkSettings, commits: Commits, last: int, batch_id: int) -> None:
    noted = AddedRows.beside(settings.commits, commits.job, commits.statement)
    added = noted.after(connection, batch_id, last)
    if added is None:
        raise _cannot(settings, commits, last, batch_id, "it was not noted which rows are theirs")
    try:
        gone = noted.take_away(connection, settings.table, added)
    except (psycopg.errors.UndefinedColumn, psycopg.errors.FeatureNotSupported):
        raise _cannot(settings, commits, last, batch_id, "its rows do not say by which transaction they were written") from None
    if gone != added.rows:
        told = f"of their {added.rows:,} rows {gone:,} are as they were written, the others were changed or removed"
        raise _cannot(settings, commits, last, batch_id, told)


def _cannot(settings: SinkSettings, commits: Commits, last: int, batch_id: int, why: str) -> UsageError:
    where = f"job = '{commits.job}' AND statement = '{commits.statement}'"
    return UsageError(
        "WR879",
        f"rows are only added to {settings.table}, and those of batches {batch_id + 1} to {last} cannot be taken back: {why}",
        f"delete them yourself, then: UPDATE {commits.table} SET batch_id = {batch_id} WHERE {where}",
    )
