"""What a failure of PostgreSQL means: whether to try again, and what to tell the user."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors as sql

from windrow.connectors.postgres.settings import Server
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import FailureClass

# libpq gives no SQLSTATE for a connection that was refused, only what the server said.
_REFUSED = re.compile(
    r"password authentication failed|no password supplied|authentication failed|role .* does not exist|database .* does not exist|"
    r"no pg_hba\.conf entry|permission denied for database|does not support SSL|certificate verify failed|root certificate file",
    re.IGNORECASE,
)
_TRANSIENT = ("08", "57P", "40", "55P03", "25006")
# 57014: the statement took longer than it may, which is the load more often than the statement.
_RESOURCE = ("53", "58", "57014")
_DATA = ("22", "23")


def classify(error: BaseException) -> FailureClass:
    if not isinstance(error, psycopg.Error):
        return FailureClass.TRANSIENT if isinstance(error, ConnectionError | TimeoutError) else FailureClass.PERMANENT
    state = error.sqlstate
    if state is None:
        is_refused = bool(_REFUSED.search(str(error)))
        return FailureClass.PERMANENT if is_refused or not _is_connection_lost(error) else FailureClass.TRANSIENT
    for prefixes, found in ((_RESOURCE, FailureClass.RESOURCE), (_TRANSIENT, FailureClass.TRANSIENT), (_DATA, FailureClass.DATA)):
        if state.startswith(prefixes):
            return found
    return FailureClass.PERMANENT


def _is_connection_lost(error: psycopg.Error) -> bool:
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def explain(error: BaseException, what: str, server: Server) -> WindrowError:
    """A failure that stays, as something to act on. ``what`` completes "could not ..."."""
    text = f"could not {what}: {said(error)}"
    kind = classify(error)
    if kind is FailureClass.DATA:
        return JobError("WR876", text, _data_hint(error))
    if kind.is_worth_trying_again:
        hint = "see that the server runs and can be reached, then start the job again: it goes on with this batch"
        return JobError("WR877", f"{server.system} did not do its part in time; {text}", hint)
    if isinstance(error, sql.UndefinedColumn | sql.UndefinedTable | sql.DatatypeMismatch | sql.InvalidColumnReference):
        hint = "undo the change of the table, or start the job again after the statement fits it"
        return JobError("WR875", f"the table is not what it was when the job started; {text}", hint)
    if isinstance(error, sql.InsufficientPrivilege):
        return UsageError("WR871", f"the user of {server.system} may not do this; {text}", _grant_hint(error))
    if isinstance(error, sql.InvalidAuthorizationSpecification) or (isinstance(error, psycopg.Error) and error.sqlstate is None):
        hint = "check 'user', 'password' and 'database', or 'url'"
        return UsageError("WR871", f"{server.system} refuses the connection; {text}", hint)
    return JobError("WR877", f"{server.system}: {text}", "mend the cause and start the job again: it goes on with this batch")


def said(error: BaseException) -> str:
    """The server's message on one line, with what it says about the row."""
    diagnosis = error.diag if isinstance(error, psycopg.Error) else None
    if diagnosis is not None and diagnosis.message_primary:
        parts = [diagnosis.message_primary, diagnosis.message_detail or "", _place(diagnosis.context or "")]
        return "; ".join(" ".join(part.split()) for part in parts if part)[:500]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:500]


def _place(context: str) -> str:
    """COPY says which column and value it stumbled over; our staging table's name means nothing to anybody."""
    found = re.search(r"column (.+)", context)
    return f"in column {found[1]}" if found else ""


def _data_hint(error: BaseException) -> str:
    if isinstance(error, sql.NotNullViolation):
        return "leave such rows out with WHERE ... IS NOT NULL, or let the column be NULL: ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL"
    if isinstance(error, sql.UniqueViolation):
        return "name the columns of that constraint as the key, 'key' = '...', so that the row is replaced"
    return "CAST the column in the query to what the table holds, or widen the column; then start the job again: it goes on with this batch"


def _grant_hint(error: BaseException) -> str:
    found = re.search(r"permission denied for (?:table|relation|schema) (\S+)", str(error))
    name = found[1] if found else "..."
    if "for schema" in str(error):
        return f"GRANT USAGE, CREATE ON SCHEMA {name} TO the user"
    return f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO the user"
