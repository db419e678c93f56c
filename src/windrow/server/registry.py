"""What the server knows: pipelines with their versions, what should run and what does, events, tokens, audit.

The registry is for looking things up and for wishes. Jobs do not depend on it: the reconciler finds them again by their folders.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from windrow.server.database import Database, open_database

Desired = Literal["running", "stopped", "paused"]
RUNNING: Desired = "running"
STOPPED: Desired = "stopped"
PAUSED: Desired = "paused"
# How a run ended: of itself, because somebody wanted it to, or with an error.
ENDED, STOPPED_RUN, FAILED_RUN = "ended", "stopped", "failed"
# Older events go first. What happened to a job is in its own folder, too.
_MOST_EVENTS = 100_000


@dataclass(frozen=True)
class Pipeline:
    name: str
    owner: str
    description: str
    created_at: int
    team: str = ""
    tags: tuple[str, ...] = ()
    grp: str = ""


@dataclass(frozen=True)
class Version:
    """``project`` is the ``windrow.yaml`` that came with the text, ``files`` others as JSON by their paths; or empty."""

    pipeline: str
    n: int
    sql: str
    message: str
    author: str
    created_at: int
    project: str = ""
    files: str = ""


@dataclass(frozen=True)
class Deployment:
    """``desired`` is what somebody asked for, ``observed`` what the job does, and ``why`` the reason where the two differ.

    ``asked_at`` is when the wish was made.
    """

    name: str
    pipeline: str
    env: str
    version: int
    desired: str
    observed: str
    why: str
    asked_at: int
    changed_at: int


@dataclass(frozen=True)
class Run:
    """One process of a job. ``exit_code`` is None while it runs, and where nobody saw it end."""

    id: str
    deployment: str
    version: int
    pid: int | None
    started_at: int
    ended_at: int | None
    exit_code: int | None
    outcome: str
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


def deployment_name(pipeline: str, env: str) -> str:
    """
    >>> deployment_name("orders", ""), deployment_name("orders", "prod")
    ('orders', 'orders@prod')
    """
    return f"{pipeline}@{env}" if env else pipeline


class Registry:
    """Every method is one transaction."""

    def __init__(self, place: Path | str) -> None:
        """A file of SQLite, or the URL of a PostgreSQL database."""
        self.database: Database = open_database(place)
        self.changed = threading.Condition()

    def close(self) -> None:
        self.database.close()

    def _change(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self.database.change() as db:
            found: list[dict[str, Any]] = db.execute(sql, values)
        return found

    # Pipelines and versions

    def pipelines(self) -> list[Pipeline]:
        return [_pipeline(row) for row in self.database.all("SELECT * FROM pipeline ORDER BY name")]

    def pipeline(self, name: str) -> Pipeline | None:
        return next((_pipeline(row) for row in self.database.all("SELECT * FROM pipeline WHERE name = ?", name)), None)

    def put_pipeline(self, name: str, owner: str, description: str, team: str = "", tags: Sequence[str] = (), grp: str = "") -> None:
        self._change(
            "INSERT INTO pipeline (name, owner, description, created_at, team, tags, grp) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, description = excluded.description, team = excluded.team, "
            "tags = excluded.tags, grp = excluded.grp",
            *(name, owner, description, now_millis(), team, " ".join(tags), grp),
        )

    def remove_pipeline(self, name: str) -> None:
        self._change("DELETE FROM pipeline WHERE name = ?", name)

    def add_version(self, pipeline: str, sql: str, message: str, author: str, project: str = "", files: str = "") -> int:
        """The number of the version; the newest one's where the text is the same."""
        with self.database.change() as db:
            found = db.execute("SELECT n, sql, project, files FROM version WHERE pipeline = ? ORDER BY n DESC LIMIT 1", (pipeline,))
            if found and (found[0]["sql"], found[0]["project"], found[0]["files"]) == (sql, project, files):
                return int(found[0]["n"])
            n = int(found[0]["n"]) + 1 if found else 1
            _insert_version(db, Version(pipeline, n, sql, message, author, now_millis(), project, files))
            return n

    def put_version(self, version: Version) -> None:
        """One that was made before, as its folder has it; what is there already stays."""
        with self.database.change() as db:
            _insert_version(db, version)

    def versions(self, pipeline: str) -> list[Version]:
        """Newest first."""
        return [Version(**row) for row in self.database.all("SELECT * FROM version WHERE pipeline = ? ORDER BY n DESC", pipeline)]

    def version(self, pipeline: str, n: int) -> Version | None:
        found = self.database.all("SELECT * FROM version WHERE pipeline = ? AND n = ?", pipeline, n)
        return Version(**found[0]) if found else None

    # What should run, and what does

    def deployments(self) -> list[Deployment]:
        return [Deployment(**row) for row in self.database.all("SELECT * FROM deployment ORDER BY name")]

    def deployment(self, name: str) -> Deployment | None:
        return next((Deployment(**row) for row in self.database.all("SELECT * FROM deployment WHERE name = ?", name)), None)

    def want(self, pipeline: str, desired: Desired, version: int | None = None, env: str = "", asked_at: int | None = None) -> int:
        """Gives when the wish was made."""
        at = asked_at or now_millis()
        self._change(
            "INSERT INTO deployment (name, pipeline, env, version, desired, observed, why, asked_at, changed_at) "
            "VALUES (?, ?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT (name) DO UPDATE SET desired = excluded.desired, "
            "version = coalesce(?, deployment.version), why = '', asked_at = excluded.asked_at, changed_at = excluded.changed_at",
            *(deployment_name(pipeline, env), pipeline, env, version or 1, desired, STOPPED, at, now_millis(), version),
        )
        return at

    def remove_deployment(self, name: str) -> None:
        self._change("DELETE FROM deployment WHERE name = ?", name)

    def observe(self, name: str, observed: str, why: str = "") -> None:
        """Nothing is written where nothing has changed."""
        known = self.deployment(name)
        if known is None or (known.observed, known.why) == (observed, why):
            return
        self._change("UPDATE deployment SET observed = ?, why = ?, changed_at = ? WHERE name = ?", observed, why, now_millis(), name)

    def begin_run(self, id_: str, deployment: str, version: int, pid: int, started_at: int | None = None) -> None:
        self._change(
            "INSERT INTO run (id, deployment, version, pid, started_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            *(id_, deployment, version, pid, started_at or now_millis()),
        )

    def end_run(self, id_: str, exit_code: int | None, message: str, outcome: str) -> bool:
        """False where its end was known."""
        sql = "UPDATE run SET ended_at = ?, exit_code = ?, message = ?, outcome = ? WHERE id = ? AND ended_at IS NULL RETURNING id"
        return bool(self._change(sql, now_millis(), exit_code, message, outcome, id_))

    def runs(self, deployment: str, most: int = 50) -> list[Run]:
        """Newest first."""
        rows = self.database.all("SELECT * FROM run WHERE deployment = ? ORDER BY started_at DESC LIMIT ?", deployment, most)
        return [Run(**row) for row in rows]

    def failures_since(self, deployment: str, at: int) -> list[int]:
        """When its runs failed, oldest first."""
        sql = "SELECT ended_at FROM run WHERE deployment = ? AND outcome = ? AND ended_at > ? ORDER BY ended_at"
        return [int(row["ended_at"]) for row in self.database.all(sql, deployment, FAILED_RUN, at)]

    # Events, tokens, audit

    def add_event(self, type_: str, pipeline: str, message: str, level: str = "info") -> None:
        with self.database.change() as db:
            sql = "INSERT INTO event (at, level, type, pipeline, message) VALUES (?, ?, ?, ?, ?) RETURNING seq"
            seq = int(db.execute(sql, (now_millis(), level, type_, pipeline, message))[0]["seq"])
            if seq % 1000 == 0:
                db.execute("DELETE FROM event WHERE seq <= ?", (seq - _MOST_EVENTS,))
        with self.changed:
            self.changed.notify_all()

    def events(self, after: int = 0, pipeline: str | None = None, most: int = 200, *, newest: bool = False) -> list[Event]:
        """In the order in which they happened; with ``newest`` the last ones."""
        of_one, values = (" AND pipeline = ?", (pipeline,)) if pipeline is not None else ("", ())
        order = "DESC" if newest else "ASC"
        rows = self.database.all(f"SELECT * FROM event WHERE seq > ?{of_one} ORDER BY seq {order} LIMIT ?", after, *values, most)
        found = [Event(**row) for row in rows]
        return found[::-1] if newest else found

    def add_token(self, id_: str, name: str, sha256: str, scopes: Sequence[str], expires_at: int | None) -> None:
        self._change(
            "INSERT INTO token (id, name, sha256, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
            *(id_, name, sha256, " ".join(scopes), now_millis(), expires_at),
        )

    def tokens(self) -> list[Token]:
        return [_token(row) for row in self.database.all("SELECT * FROM token ORDER BY created_at")]

    def token_of(self, sha256: str) -> Token | None:
        return next((_token(row) for row in self.database.all("SELECT * FROM token WHERE sha256 = ?", sha256)), None)

    def note_use(self, token: Token) -> None:
        """To the minute: an entry for every request would be a write for every request."""
        now = now_millis()
        if token.last_used is None or now - token.last_used > 60_000:
            self._change("UPDATE token SET last_used = ? WHERE id = ?", now, token.id)

    def remove_token(self, id_: str) -> bool:
        return bool(self._change("DELETE FROM token WHERE id = ? RETURNING id", id_))

    def note(self, token: str, verb: str, target: str, details: str = "") -> None:
        sql = "INSERT INTO audit (at, token, verb, target, details) VALUES (?, ?, ?, ?, ?)"
        self._change(sql, now_millis(), token, verb, target, details)

    def audit(self, most: int = 200, before: int | None = None) -> list[AuditEntry]:
        """Newest first, of those before one."""
        older, values = (" WHERE seq < ?", (before,)) if before is not None else ("", ())
        return [AuditEntry(**row) for row in self.database.all(f"SELECT * FROM audit{older} ORDER BY seq DESC LIMIT ?", *values, most)]


def _insert_version(db: Any, version: Version) -> None:
    db.execute(
        "INSERT INTO version (pipeline, n, sql, message, author, created_at, project, files) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (pipeline, n) DO NOTHING",
        (version.pipeline, version.n, version.sql, version.message, version.author, version.created_at, version.project, version.files),
    )


def _pipeline(row: dict[str, Any]) -> Pipeline:
    return Pipeline(**{**row, "tags": tuple(row["tags"].split())})


def _token(row: dict[str, Any]) -> Token:
    return Token(row["id"], row["name"], tuple(row["scopes"].split()), row["created_at"], row["expires_at"], row["last_used"])
