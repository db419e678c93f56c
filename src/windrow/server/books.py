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


@dataclass(frozen=True)
class Plan:
    """``content`` is what the change does to each job of the file, as ``windrow plan --format json`` has it."""

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

    def set_flag(self, name: str, env: str, value: str | None, author: str) -> None:
        self._change("INSERT INTO flag (name, env, value, at, author) VALUES (?, ?, ?, ?, ?)", name, env, value, now_millis(), author)

    def flag_history(self, name: str | None = None) -> list[Flag]:
        """Newest first."""
        where, values = (" WHERE name = ?", (name,)) if name is not None else ("", ())
        return [Flag(**row) for row in self._db.all(f"SELECT * FROM flag{where} ORDER BY seq DESC", *values)]

    def flags(self, env: str) -> dict[str, str]:
        """What holds in an environment: its own values before those of all."""
        newest: dict[tuple[str, str], str | None] = {}
        for one in reversed(self.flag_history()):
            newest[one.name, one.env] = one.value
        found: dict[str, str] = {}
        for scope in ("", env):
            for (name, own), value in newest.items():
                if own == scope and value is not None:
                    found[name] = value
        return found

    # Plans

    def add_plan(self, deployment: str, from_version: int, to_version: int, content: dict[str, Any], by: str) -> Plan:
        now = now_millis()
        made = Plan(secrets.token_hex(6), deployment, from_version, to_version, content, now, by, "", now + PLAN_DAYS * 86_400_000, "")
        sql = "INSERT INTO plan VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._change(sql, *{**vars(made), "content": json.dumps(content)}.values())
        return made

    def plan(self, id_: str) -> Plan | None:
        rows = self._db.all("SELECT * FROM plan WHERE id = ?", id_)
        return _plan(rows[0]) if rows else None

    def plans(self, deployment: str) -> list[Plan]:
        """Newest first."""
        return [
            _plan(row) for row in self._db.all("SELECT * FROM plan WHERE deployment = ? ORDER BY created_at DESC LIMIT 100", deployment)
        ]

    def approve(self, id_: str, by: str) -> None:
        self._change("UPDATE plan SET approved_by = ? WHERE id = ?", by, id_)

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
