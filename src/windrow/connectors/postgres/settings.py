"""The options of a postgres table or sink as typed values, and connections made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from windrow.connectors.times import duration_option
from windrow.errors import UsageError

Connection = psycopg.Connection[tuple[Any, ...]]
_MICROS = 1_000_000
# A server that vanished without a word is noticed after about a minute, not after the two hours that TCP waits.
_KEEPALIVE: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


@dataclass(frozen=True)
class Server:
    """Where the database is and how long to wait for it. ``conninfo`` holds the password: it is never printed."""

    conninfo: str = field(repr=False)
    system: str
    connect_seconds: int
    statement_millis: int
    retry_seconds: float

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Server:
        given = {
            "host": options.get("host"),
            "port": options.get("port"),
            "dbname": options.get("database"),
            "user": options.get("user"),
            "password": options.get("password"),
            "sslmode": options.get("ssl.mode"),
        }
        try:
            conninfo = make_conninfo(options.get("url", ""), **{key: value for key, value in given.items() if value})
            known = conninfo_to_dict(conninfo)
        except psycopg.Error:
            # What libpq says about it repeats the text, and with it the password.
            raise UsageError("WR870", "'url' is not the address of a PostgreSQL database", _URL_HINT) from None
        if not known.get("host"):
            known["host"] = "localhost"
            conninfo = make_conninfo(conninfo, host="localhost")
        return cls(
            conninfo,
            f"PostgreSQL at {known['host']}:{known.get('port', 5432)}/{known.get('dbname') or known.get('user') or ''}".rstrip("/"),
            max(1, duration_option(options, "connect.timeout", "10s", "WR870") // _MICROS),
            duration_option(options, "statement.timeout", "10m", "WR870") // 1000,
            duration_option(options, "retry.timeout", "10m", "WR870") / _MICROS,
        )

    def connect(self) -> Connection:
        """A connection in which times are in UTC and a statement ends after its time. Transactions are begun by their first statement."""
        connection = psycopg.connect(
            self.conninfo, connect_timeout=self.connect_seconds, application_name="windrow", client_encoding="UTF8", **_KEEPALIVE
        )
        try:
            connection.execute(
                "SELECT set_config('timezone', 'UTC', false), set_config('datestyle', 'ISO', false),"
                " set_config('extra_float_digits', '3', false), set_config('statement_timeout', %s, false)",
                (str(self.statement_millis),),
            )
            connection.commit()
        except BaseException:
            connection.close()
            raise
        return connection


@dataclass(frozen=True)
class TableName:
    schema: str
    table: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> TableName:
        """``table`` may name its schema: ``sales.volumes``."""
        written = options["table"].strip()
        schema, dot, table = written.rpartition(".")
        return cls(schema, table) if dot and schema and table else cls(options.get("schema", "public"), written)

    def __str__(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.table)}"


@dataclass(frozen=True)
class SinkSettings:
    server: Server
    table: TableName
    creates: bool
    commits: TableName
    policy: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SinkSettings:
        table = TableName.of(options)
        return cls(
            Server.of(options),
            table,
            options.get("table.create", "false").lower() == "true",
            TableName(table.schema, options.get("commits.table", "windrow_commits")),
            options.get("failure.policy", "retry").lower(),
        )


_URL_HINT = "'url' = 'postgresql://user:password@host:5432/database'"


def quoted(name: str) -> str:
    """An identifier as PostgreSQL takes it exactly.

    >>> quoted('od"d')
    '"od""d"'
    """
    return '"' + name.replace('"', '""') + '"'
