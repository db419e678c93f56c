"""What the server knows, in SQLite: pipelines with their versions, what should run and what does, events, tokens, audit.

The registry is for looking things up and for wishes. Jobs do not depend on it: ``rebuilt_from`` finds them again by their folders.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from windrow.errors import UsageError

SCHEMA_VERSION = 1
Desired = Literal["running", "stopped"]
RUNNING: Desired = "running"
STOPPED: Desired = "stopped"
# Older events go first. What happened to a job is in its own folder, too.
_MOST_EVENTS = 100_000


@dataclass(frozen=True)
class Pipeline:
    name: str
    owner: str
    description: str
    created_at: int


@dataclass(frozen=True)
class Version:
    pipeline: str
    n: int
    sql: str
    message: str
    author: str
    created_at: int


@dataclass(frozen=True)
class Deployment:
    """``desired`` is what somebody asked for, ``observed`` what the job does, and ``why`` the reason where the two differ."""

    pipeline: str
    version: int
    desired: str
    observed: str
    why: str
    changed_at: int


@dataclass(frozen=True)
class Run:
    """One process of a job. ``exit_code`` is None while it runs, and where nobody saw it end."""

    id: str
    pipeline: str
    version: int
    pid: int | None
    started_at: int
    ended_at: int | None
    exit_code: int | None
    message: str


@dataclass(frozen=True)
class Event:
    seq: int
    at: int
    level: str
    type: str
    pipeline: str
    message: str


@dataclass(frozen=True)
class Token:
    """``scopes`` are in the order of their power."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None
    last_used: int | None


@dataclass(frozen=True)
class AuditEntry:
    seq: int
    at: int
    token: str
    verb: str
    target: str
    details: str


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Registry:
    """One connection, one writer at a time. Every method is one transaction."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = NORMAL", "busy_timeout = 5000"):
                self._db.execute(f"PRAGMA {pragma}")
            self._migrate(path)
        except sqlite3.Error as error:
            raise UsageError("WR920", f"the registry {path} cannot be opened: {error}", "name another folder with --data") from error
        self.changed = threading.Condition()

    def _migrate(self, path: Path) -> None:
        found = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if found > SCHEMA_VERSION:
            raise UsageError(
                "WR921",
                f"the registry {path} was written by a later version of Windrow (format {found}, this one reads {SCHEMA_VERSION})",
                "run that version, or name another folder with --data",
            )
        if found == 0:
            text = files("windrow.server").joinpath("schema.sql").read_text(encoding="utf-8")
            self._db.executescript(f"BEGIN; {text} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _all(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(row) for row in self._db.execute(sql, values).fetchall()]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # Pipelines and versions

    def pipelines(self) -> list[Pipeline]:
        return [Pipeline(**row) for row in self._all("SELECT * FROM pipeline ORDER BY name")]

    def pipeline(self, name: str) -> Pipeline | None:
        return next((Pipeline(**row) for row in self._all("SELECT * FROM pipeline WHERE name = ?", name)), None)

    def put_pipeline(self, name: str, owner: str, description: str) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT INTO pipeline VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, "
                "description = excluded.description",
                (name, owner, description, now_millis()),
            )

    def remove_pipeline(self, name: str) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM pipeline WHERE name = ?", (name,))

    def add_version(self, pipeline: str, sql: str, message: str, author: str) -> int:
        """The number of the version; the newest one's where the text is the same."""
        with self._writing() as db:
            newest = db.execute("SELECT n, sql FROM version WHERE pipeline = ? ORDER BY n DESC LIMIT 1", (pipeline,)).fetchone()
            if newest is not None and newest["sql"] == sql:
                return int(newest["n"])
            n = 1 if newest is None else int(newest["n"]) + 1
            db.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?)", (pipeline, n, sql, message, author, now_millis()))
            return n

    def versions(self, pipeline: str) -> list[Version]:
        """Newest first."""
        return [Version(**row) for row in self._all("SELECT * FROM version WHERE pipeline = ? ORDER BY n DESC", pipeline)]

    def version(self, pipeline: str, n: int) -> Version | None:
        found = self._all("SELECT * FROM version WHERE pipeline = ? AND n = ?", pipeline, n)
        return Version(**found[0]) if found else None

    # What should run, and what does

    def deployments(self) -> list[Deployment]:
        return [Deployment(**row) for row in self._all("SELECT * FROM deployment ORDER BY pipeline")]

    def deployment(self, pipeline: str) -> Deployment | None:
        return next((Deployment(**row) for row in self._all("SELECT * FROM deployment WHERE pipeline = ?", pipeline)), None)

    def want(self, pipeline: str, desired: Desired, version: int | None = None, observed: str = STOPPED) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT INTO deployment VALUES (?, ?, ?, ?, '', ?) ON CONFLICT (pipeline) DO UPDATE SET "
                "desired = excluded.desired, version = coalesce(?, version), why = '', changed_at = excluded.changed_at",
                (pipeline, version or 1, desired, observed, now_millis(), version),
            )

    def observe(self, pipeline: str, observed: str, why: str = "") -> None:
        with self._writing() as db:
            db.execute(
                "UPDATE deployment SET observed = ?, why = ?, changed_at = ? WHERE pipeline = ? AND (observed <> ? OR why <> ?)",
                (observed, why, now_millis(), pipeline, observed, why),
            )

    def begin_run(self, id_: str, pipeline: str, version: int, pid: int, started_at: int | None = None) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT INTO run (id, pipeline, version, pid, started_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                (id_, pipeline, version, pid, started_at or now_millis()),
            )

    def end_run(self, id_: str, exit_code: int | None, message: str) -> bool:
        """False where its end was known."""
        with self._writing() as db:
            sql = "UPDATE run SET ended_at = ?, exit_code = ?, message = ? WHERE id = ? AND ended_at IS NULL"
            return db.execute(sql, (now_millis(), exit_code, message, id_)).rowcount > 0

    def runs(self, pipeline: str, most: int = 50) -> list[Run]:
        """Newest first."""
        return [Run(**row) for row in self._all("SELECT * FROM run WHERE pipeline = ? ORDER BY started_at DESC LIMIT ?", pipeline, most)]

    # Events, tokens, audit

    def add_event(self, type_: str, pipeline: str, message: str, level: str = "info") -> None:
        with self._writing() as db:
            at = db.execute(
                "INSERT INTO event (at, level, type, pipeline, message) VALUES (?, ?, ?, ?, ?)",
                (now_millis(), level, type_, pipeline, message),
            ).lastrowid
            if at is not None and at % 1000 == 0:
                db.execute("DELETE FROM event WHERE seq <= ?", (at - _MOST_EVENTS,))
        with self.changed:
            self.changed.notify_all()

    def events(self, after: int = 0, pipeline: str | None = None, most: int = 200, *, newest: bool = False) -> list[Event]:
        """In the order in which they happened; with ``newest`` the last ones."""
        order = "DESC" if newest else "ASC"
        rows = self._all(
            f"SELECT * FROM event WHERE seq > ? AND (? IS NULL OR pipeline = ?) ORDER BY seq {order} LIMIT ?",
            after,
            pipeline,
            pipeline,
            most,
        )
        found = [Event(**row) for row in rows]
        return found[::-1] if newest else found

    def add_token(self, id_: str, name: str, sha256: str, scopes: Sequence[str], expires_at: int | None) -> None:
        with self._writing() as db:
            db.execute(
                "INSERT INTO token (id, name, sha256, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                (id_, name, sha256, " ".join(scopes), now_millis(), expires_at),
            )

    def tokens(self) -> list[Token]:
        return [_token(row) for row in self._all("SELECT * FROM token ORDER BY created_at")]

    def token_of(self, sha256: str) -> Token | None:
        return next((_token(row) for row in self._all("SELECT * FROM token WHERE sha256 = ?", sha256)), None)

    def note_use(self, token: Token) -> None:
        """To the minute: an entry for every request would be a write for every request."""
        now = now_millis()
        if token.last_used is None or now - token.last_used > 60_000:
            with self._writing() as db:
                db.execute("UPDATE token SET last_used = ? WHERE id = ?", (now, token.id))

    def remove_token(self, id_: str) -> bool:
        with self._writing() as db:
            return db.execute("DELETE FROM token WHERE id = ?", (id_,)).rowcount > 0

    def note(self, token: str, verb: str, target: str, details: str = "") -> None:
        with self._writing() as db:
            db.execute(
                "INSERT INTO audit (at, token, verb, target, details) VALUES (?, ?, ?, ?, ?)", (now_millis(), token, verb, target, details)
            )

    def audit(self, most: int = 200) -> list[AuditEntry]:
        """Newest first."""
        return [AuditEntry(**row) for row in self._all("SELECT * FROM audit ORDER BY seq DESC LIMIT ?", most)]


def _token(row: dict[str, Any]) -> Token:
    return Token(row["id"], row["name"], tuple(row["scopes"].split()), row["created_at"], row["expires_at"], row["last_used"])
