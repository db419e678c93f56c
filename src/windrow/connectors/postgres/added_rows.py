"""Which transaction added the rows of which batch, where rows have no key: so that a job that goes back can take exactly these away.

PostgreSQL keeps with every row the transaction that wrote it (``xmin``). Rows that somebody has changed since have another one, and then
nothing is taken away: the count says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from windrow.connectors.postgres.settings import Connection, TableName

# Spark's notes go back a hundred batches; what is older is let go.
_BATCHES_KEPT = 1_000
# ``xmin`` has 32 bits, the number of a transaction 64.
_XIDS = 1 << 32


@dataclass(frozen=True)
class Added:
    """The rows of the batches ``first`` to ``last``, by the transactions that wrote them."""

    first: int
    last: int
    rows: int
    xids: tuple[int, ...]


@dataclass(frozen=True)
class AddedRows:
    table: TableName
    job: str
    statement: str

    @staticmethod
    def beside(commits: TableName, job: str, statement: str) -> AddedRows:
        return AddedRows(TableName(commits.schema, f"{commits.table}_batches"), job, statement)

    def make_ready(self, connection: Connection) -> bool:
        """Whether batches can be noted: a user who may create no table writes without that."""
        if self._is_there(connection):
            return True
        try:
            with connection.transaction():
                connection.execute(
                    f"CREATE TABLE {self.table} (job text, statement text, batch_id bigint, before bigint NOT NULL, xid bigint,"
                    " rows bigint NOT NULL, PRIMARY KEY (job, statement, batch_id))"
                )
        except psycopg.errors.InsufficientPrivilege:
            return False
        return True

    def note(self, connection: Connection, batch_id: int, before: int, rows: int, *, is_whole: bool) -> None:
        """``before`` is the batch that was written last until now. Only rows of one transaction without savepoints (``is_whole``) bear its
        number.
        """
        # Somebody may have taken the job back by hand.
        self._forget(connection, ">=", batch_id)
        connection.execute(
            f"INSERT INTO {self.table} VALUES (%s, %s, %s, %s, CASE WHEN %s THEN txid_current() END, %s)",
            (self.job, self.statement, batch_id, before, is_whole, rows),
        )
        self._forget(connection, "<", batch_id - _BATCHES_KEPT)

    def after(self, connection: Connection, batch_id: int, last: int) -> Added | None:
        """What the batches after one have added, up to the last that was written; None where that is not known of each."""
        if not self._is_there(connection):
            return None
        found = connection.execute(
            f"SELECT batch_id, before, xid, rows FROM {self.table} WHERE job = %s AND statement = %s AND batch_id > %s ORDER BY 1 DESC",
            (self.job, self.statement, batch_id),
        ).fetchall()
        wanted = last
        for number, before, xid, _ in found:
            if number != wanted or xid is None:
                return None
            wanted = before
        if wanted > batch_id:
            return None
        return Added(found[-1][0], last, sum(rows for *_, rows in found), tuple(xid % _XIDS for _, _, xid, _ in found))

    def take_away(self, connection: Connection, target: TableName, added: Added) -> int:
        """Gives how many rows these were."""
        gone = connection.execute(f"DELETE FROM {target} WHERE xmin::text::bigint = ANY(%s)", (list(added.xids),)).rowcount
        self._forget(connection, ">=", added.first)
        return gone

    def _forget(self, connection: Connection, sign: str, batch_id: int) -> None:
        connection.execute(
            f"DELETE FROM {self.table} WHERE job = %s AND statement = %s AND batch_id {sign} %s", (self.job, self.statement, batch_id)
        )

    def _is_there(self, connection: Connection) -> bool:
        return bool(connection.execute("SELECT to_regclass(%s) IS NOT NULL", (str(self.table),)).fetchall()[0][0])
