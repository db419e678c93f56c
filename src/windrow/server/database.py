"""Where the registry is kept: a SQLite file, or a PostgreSQL database by its URL. One connection, one transaction at a time.

SQL is written once, as SQLite has it, in the part of the language that both have; what differs (``?``, types of columns) is put right here.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg.rows import dict_row

from windrow.errors import UsageError

# The files of ``schema`` in order; a registry that has the first n of them gets the others.
MIGRATIONS = ("1-jobs.sql", "2-teams.sql", "3-alerts.sql", "4-approval.sql")
SCHEMA_VERSION = len(MIGRATIONS)
LOST = (sqlite3.DatabaseError, psycopg.Error)
# "windrow" as a number: who holds it is the only server of this database.
_ONLY_SERVER = 0x77696E64
_NOT_OPENED, _TOO_NEW, _TAKEN = "WR920", "WR921", "WR931"


class Executes(Protocol):
    """What a transaction can do."""

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[dict[str, Any]]: ...


class Database(Protocol):
    """``change`` is one transaction; ``all`` reads outside of any."""

    def change(self) -> Any: ...
    def all(self, sql: str, *values: object) -> list[dict[str, Any]]: ...
    def mend(self) -> bool: ...
    def close(self) -> None: ...


def open_database(place: Path | str) -> Database:
    return PostgresDatabase(place) if isinstance(place, str) else SqliteDatabase(place)


def is_database_url(text: str) -> bool:
    return text.startswith(("postgresql://", "postgres://"))


def _schema(number: int) -> str:
    return files("windrow.server").joinpath("schema", MIGRATIONS[number]).read_text(encoding="utf-8")


def _too_new(found: int, where: str) -> UsageError:
    return UsageError(
        _TOO_NEW,
        f"the registry {where} was written by a later version of Windrow (format {found}, this one reads {SCHEMA_VERSION})",
        "run that version, or name another folder with --data",
    )


class SqliteDatabase:
    """A file that somebody removed or spoiled is set aside for a new one: ``mend`` says so, and jobs are found by their folders."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        try:
            self._db = self._opened()
        except sqlite3.OperationalError as error:
            raise UsageError(_NOT_OPENED, f"the registry {path} cannot be opened: {error}", "name another folder with --data") from error
        except sqlite3.DatabaseError:
            self._set_aside()
            self._db = self._opened()

    def _opened(self) -> sqlite3.Connection:
        made = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            made.row_factory = sqlite3.Row
            for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = NORMAL", "busy_timeout = 5000"):
                made.execute(f"PRAGMA {pragma}")
            if (found := made.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(found)
            version = int(made.execute("PRAGMA user_version").fetchone()[0])
            if version > SCHEMA_VERSION:
                raise _too_new(version, str(self._path))
            for number in range(version, SCHEMA_VERSION):
                made.executescript(f"BEGIN; {_schema(number)} PRAGMA user_version = {number + 1}; COMMIT;")
        except BaseException:
            made.close()
            raise
        self._file = _identity(self._path)
        return made

    def _set_aside(self) -> None:
        """Not removed: whoever wants to know what happened can look at it."""
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        if self._path.exists():
            os.replace(self._path, self._path.with_name(f"{self._path.name}.broken-{time.time_ns() // 1_000_000}"))

    @contextmanager
    def change(self) -> Iterator[Executes]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        return [dict(row) for row in self._db.execute(sql, values).fetchall()]

    def all(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._lock:
            return self.execute(sql, values)

    def mend(self) -> bool:
        """True where the registry was gone or spoiled, and is new now."""
        with self._lock:
            try:
                if _identity(self._path) == self._file:
                    self._db.execute("SELECT COUNT(*) FROM deployment").fetchone()
                    return False
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error) and "disk image" not in str(error):
                    raise
            except sqlite3.DatabaseError:
                pass
            self._db.close()
            self._set_aside()
            self._db = self._opened()
            return True

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class PostgresDatabase:
    """A connection that was lost is made again by the next statement; what failed with it is told to whoever asked."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._where = _shown(url)
        self._lock = threading.RLock()
        try:
            self._db = self._opened()
        except psycopg.Error as error:
            reason = str(error).strip().split("\n")[0]
            raise UsageError(
                _NOT_OPENED, f"the registry {self._where} cannot be opened: {reason}", "--registry postgresql://user:password@host/database"
            ) from error

    def _opened(self) -> psycopg.Connection[dict[str, Any]]:
        made = psycopg.connect(self._url, autocommit=True, row_factory=dict_row, connect_timeout=10, application_name="windrow serve")
        try:
            taken = made.execute("SELECT pg_try_advisory_lock(%s) AS is_ours", (_ONLY_SERVER,)).fetchone()
            if taken is None or not taken["is_ours"]:
                raise UsageError(_TAKEN, f"another server keeps its registry in {self._where}", "stop it, or name another database")
            with made.transaction():
                made.execute("CREATE TABLE IF NOT EXISTS registry_format (version BIGINT NOT NULL)")
                row = made.execute("SELECT MAX(version) AS version FROM registry_format").fetchone()
                version = int(row["version"] or 0) if row is not None else 0
                if version > SCHEMA_VERSION:
                    raise _too_new(version, self._where)
                for number in range(version, SCHEMA_VERSION):
                    # psycopg takes several statements at once only where there is no parameter among them.
                    made.execute(_as_postgres(_schema(number)).encode())
                    made.execute("INSERT INTO registry_format VALUES (%s)", (number + 1,))
        except BaseException:
            made.close()
            raise
        return made

    def _ready(self) -> psycopg.Connection[dict[str, Any]]:
        if self._db.closed or self._db.broken:
            self._db = self._opened()
        return self._db

    @contextmanager
    def change(self) -> Iterator[Executes]:
        with self._lock, self._ready().transaction():
            yield self

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
        done = self._db.execute(sql.replace("?", "%s").encode(), values)
        return done.fetchall() if done.description is not None else []

    def all(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._lock:
            self._ready()
            return self.execute(sql, values)

    def mend(self) -> bool:
        """True where somebody has removed the tables, and they are new now."""
        with self._lock:
            try:
                self.all("SELECT COUNT(*) AS n FROM deployment")
            except psycopg.errors.UndefinedTable:
                self._db.execute("DROP TABLE IF EXISTS registry_format")
                self._db.close()
                self._db = self._opened()
                return True
            return False

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _as_postgres(text: str) -> str:
    """
    >>> _as_postgres("CREATE TABLE a (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL) STRICT;")
    'CREATE TABLE a (seq BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, at BIGINT NOT NULL);'
    """
    text = text.replace("INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
    return re.sub(r"\bINTEGER\b", "BIGINT", text).replace(") STRICT;", ");")


def _shown(url: str) -> str:
    """
    >>> _shown("postgresql://me:hush@db/x?sslmode=require")
    'postgresql://db/x'
    """
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
