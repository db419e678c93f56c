"""What the registry keeps beside jobs: environments, flags, plans and long operations."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace
from typing import Any

from windrow.server.database import Database
from windrow.server.registry import now_millis

PENDING, WORKING, SUCCEEDED, FAILED = "pending", "running", "succeeded", "failed"
PLAN_DAYS = 7


@dataclass(frozen=True)
class Who:
    """Somebody who asks: ``id`` is that of the token and tells them apart, ``name`` is for people and need not."""

    id: str
    name: str


@dataclass(frozen=True)
class Environment:
    """``is_protected``: what is deployed there is planned by one and approved by another."""

    name: str
    is_protected: bool


@dataclass(frozen=True)
class Flag:
    """A value of a variable from a time on; None takes it away."""

    seq: int
    name: str
    env: str
    value: str | None
    at: int
    author: str
    is_secret: bool = False


@dataclass(frozen=True)
class FlagWish:
    """A value that somebody else has to approve; ``creator`` is the token that asked for it."""

    id: str
    name: str
    env: str
    value: str | None
    is_secret: bool
    at: int
    author: str
    creator: str
    approved_by: str
    approved_at: int | None


@dataclass(frozen=True)
class Plan:
    """``content`` is what the change does to each job of the file, as ``windrow plan --format json`` has it.

    ``kind`` is what applying it does: apply a text, roll back to a version, or restore the state after a batch. ``creator`` and
    ``approver`` are the ids of tokens.
    """

    id: str
    deployment: str
    from_version: int
    to_version: int
    content: dict[str, Any]
    created_at: int
    created_by: str
    approved_by: str
    expires_at: int
    operation: str
    creator: str = ""
    approver: str = ""
    kind: str = "apply"


@dataclass(frozen=True)
class Operation:
    """``step`` is what it does now, or what came of it; ``content`` what it was asked, and its error if it has one."""

    id: str
    kind: str
    deployment: str
    state: str
    step: str
    content: dict[str, Any]
    idempotency_key: str
    created_at: int
    created_by: str
    ended_at: int | None


class Books:
    def __init__(self, database: Database) -> None:
        self._db = database

    def _change(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._db.change() as db:
            found: list[dict[str, Any]] = db.execute(sql, values)
        return found

    # Environments and flags

    def environments(self) -> list[Environment]:
        rows = self._db.all("SELECT * FROM environment ORDER BY name")
        return [Environment(row["name"], bool(row["is_protected"])) for row in rows]

    def put_environment(self, name: str, *, is_protected: bool) -> None:
        sql = "INSERT INTO environment VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET is_protected = excluded.is_protected"
        self._change(sql, name, int(is_protected))

    def is_protected(self, env: str) -> bool:
        return any(one.is_protected for one in self.environments() if one.name == env)

    def set_flag(self, name: str, env: str, value: str | None, author: str, *, is_secret: bool = False) -> None:
        sql = "INSERT INTO flag (name, env, value, at, author, is_secret) VALUES (?, ?, ?, ?, ?, ?)"
        self._change(sql, name, env, value, now_millis(), author, int(is_secret))

    def flag_history(self, name: str | None = None) -> list[Flag]:
        """Newest first."""
        where, values = (" WHERE name = ?", (name,)) if name is not None else ("", ())
        rows = self._db.all(f"SELECT * FROM flag{where} ORDER BY seq DESC", *values)
        return [Flag(**{**row, "is_secret": bool(row["is_secret"])}) for row in rows]

    def present_flags(self) -> list[Flag]:
        """The newest of every flag in every environment, those that were taken away as well."""
        newest = {(one.name, one.env): one for one in reversed(self.flag_history())}
        return list(newest.values())

    def wish_flag(self, name: str, env: str, value: str | None, who: Who, *, is_secret: bool) -> FlagWish:
        made = FlagWish(secrets.token_hex(6), name, env, value, is_secret, now_millis(), who.name, who.id, "", None)
        self._change("INSERT INTO flag_wish VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *{**vars(made), "is_secret": int(is_secret)}.values())
        return made

    def flag_wishes(self) -> list[FlagWish]:
        """Newest first, those that were approved as well."""
        rows = self._db.all("SELECT * FROM flag_wish ORDER BY at DESC LIMIT 500")
        return [FlagWish(**{**row, "is_secret": bool(row["is_secret"])}) for row in rows]

    def grant_flag(self, id_: str, who: Who) -> bool:
        """False where somebody else was faster."""
        sql = "UPDATE flag_wish SET approved_by = ?, approved_at = ? WHERE id = ? AND approved_at IS NULL RETURNING id"
        return bool(self._change(sql, who.name, now_millis(), id_))

    def flags(self, env: str) -> dict[str, str]:
        """What holds in an environment: its own values before those of all."""
        found: dict[str, str] = {}
        present = self.present_flags()
        for scope in ("", env):
            found |= {one.name: one.value for one in present if one.env == scope and one.value is not None}
        return found

    # Plans

    def add_plan(self, deployment: str, from_version: int, to_version: int, content: dict[str, Any], by: Who, kind: str = "apply") -> Plan:
        now, id_ = now_millis(), secrets.token_hex(6)
        until = now + PLAN_DAYS * 86_400_000
        made = Plan(id_, deployment, from_version, to_version, content, now, by.name, "", until, "", by.id, "", kind)
        values = {**vars(made), "content": json.dumps(content)}
        self._change(f"INSERT INTO plan ({', '.join(values)}) VALUES ({', '.join('?' for _ in values)})", *values.values())
        return made

    def plan(self, id_: str) -> Plan | None:
        rows = self._db.all("SELECT * FROM plan WHERE id = ?", id_)
        return _plan(rows[0]) if rows else None

    def plans(self, deployment: str) -> list[Plan]:
        """Newest first."""
        return [
            _plan(row) for row in self._db.all("SELECT * FROM plan WHERE deployment = ? ORDER BY created_at DESC LIMIT 100", deployment)
        ]

    def approve(self, id_: str, by: Who) -> None:
        self._change("UPDATE plan SET approved_by = ?, approver = ? WHERE id = ?", by.name, by.id, id_)

    def note_operation(self, plan: str, operation: str) -> None:
        self._change("UPDATE plan SET operation = ? WHERE id = ?", operation, plan)

    # Operations

    def begin(self, kind: str, deployment: str, content: dict[str, Any], by: str, key: str = "") -> tuple[Operation, bool]:
        """The operation, and whether it is new: who asks again with the same key gets the one of before."""
        made = Operation(secrets.token_hex(8), kind, deployment, PENDING, "", content, key, now_millis(), by, None)
        with self._db.change() as db:
            if key:
                same = db.execute("SELECT * FROM operation WHERE idempotency_key = ? AND created_by = ?", (key, by))
                if same:
                    return _operation(same[0]), False
            db.execute(
                "INSERT INTO operation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                tuple({**vars(made), "content": json.dumps(content)}.values()),
            )
        return made, True

    def operation(self, id_: str) -> Operation | None:
        rows = self._db.all("SELECT * FROM operation WHERE id = ?", id_)
        return _operation(rows[0]) if rows else None

    def operations(self, deployment: str | None = None) -> list[Operation]:
        """Newest first."""
        where, values = (" WHERE deployment = ?", (deployment,)) if deployment is not None else ("", ())
        rows = self._db.all(f"SELECT * FROM operation{where} ORDER BY created_at DESC LIMIT 100", *values)
        return [_operation(row) for row in rows]

    def unfinished(self) -> list[Operation]:
        """Oldest first."""
        rows = self._db.all("SELECT * FROM operation WHERE ended_at IS NULL ORDER BY created_at")
        return [_operation(row) for row in rows]

    def step(self, operation: Operation, step: str, state: str = WORKING, error: dict[str, Any] | None = None) -> Operation:
        content = operation.content if error is None else {**operation.content, "error": error}
        ended = now_millis() if state in (SUCCEEDED, FAILED) else None
        sql = "UPDATE operation SET state = ?, step = ?, content = ?, ended_at = ? WHERE id = ?"
        self._change(sql, state, step, json.dumps(content), ended, operation.id)
        return replace(operation, state=state, step=step, content=content, ended_at=ended)


def _plan(row: dict[str, Any]) -> Plan:
    return Plan(**{**row, "content": json.loads(row["content"])})


def _operation(row: dict[str, Any]) -> Operation:
    return Operation(**{**row, "content": json.loads(row["content"])})
