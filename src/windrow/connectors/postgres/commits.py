"""Which batch of which job a database holds: a row for each statement, changed in the transaction that writes the batch.

The row is also the fence. Each start of a job takes the next turn; a driver that was believed dead finds, under the lock of the
row, that it is not its turn any more, and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.connectors.postgres.settings import Connection, TableName
from windrow.errors import JobError

# Two jobs that start at once must not both create the table: IF NOT EXISTS alone lets them collide.
_LOCK = 0x77696E64726F77


@dataclass(frozen=True)
class Commits:
    table: TableName
    job: str
    statement: str

    def take_turn(self, connection: Connection) -> int:
        """The number of this start of the job."""
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if not connection.execute("SELECT to_regclass(%s) IS NOT NULL", (str(self.table),)).fetchall()[0][0]:
            connection.execute(self.create_text())
        found = connection.execute(
            f"INSERT INTO {self.table} AS held (job, statement, batch_id, turn) VALUES (%s, %s, -1, 1)"
            " ON CONFLICT (job, statement) DO UPDATE SET turn = held.turn + 1 RETURNING turn",
            (self.job, self.statement),
        ).fetchall()
        return int(found[0][0])

    def create_text(self) -> str:
        return (
            f"CREATE TABLE {self.table} (job text, statement text, batch_id bigint NOT NULL, turn bigint NOT NULL,"
            " written_at timestamptz, refused jsonb, PRIMARY KEY (job, statement))"
        )

    def last_batch(self, connection: Connection, turn: int) -> int:
        """The last batch that is there, with its row locked until the end of the transaction; an error where it is not our turn."""
        found = connection.execute(
            f"SELECT batch_id, turn FROM {self.table} WHERE job = %s AND statement = %s FOR UPDATE", (self.job, self.statement)
        ).fetchall()
        if not found or found[0][1] != turn:
            raise JobError(
                "WR878",
                f"another driver has started this job and writes {self.statement} now: this one writes nothing more",
                "run one driver for a job; stop this one",
            )
        return int(found[0][0])

    def note(self, connection: Connection, batch_id: int, refused: str | None = None) -> None:
        """``refused`` are the rows that were left out, as JSON."""
        connection.execute(
            f"UPDATE {self.table} SET batch_id = %s, written_at = now(), refused = %s::jsonb WHERE job = %s AND statement = %s",
            (batch_id, refused, self.job, self.statement),
        )

    def refused(self, connection: Connection) -> list[dict[str, Any]] | None:
        """The rows that were left out of the last batch."""
        found = connection.execute(
            f"SELECT refused FROM {self.table} WHERE job = %s AND statement = %s", (self.job, self.statement)
        ).fetchall()
        rows: list[dict[str, Any]] | None = found[0][0]
        return rows

    def batch_in(self, connection: Connection) -> int:
        """The last batch that is there, -1 where there is none."""
        if not connection.execute("SELECT to_regclass(%s) IS NOT NULL", (str(self.table),)).fetchall()[0][0]:
            return -1
        found = connection.execute(
            f"SELECT batch_id FROM {self.table} WHERE job = %s AND statement = %s", (self.job, self.statement)
        ).fetchall()
        return int(found[0][0]) if found else -1
