"""Statements of the shell that no stream answers: SELECT over system tables, and what a server does with its jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli import codes
from windrow.errors import UsageError
from windrow.introspection.answer import aligned
from windrow.sql.dialect import Kind, tokenize

if TYPE_CHECKING:
    from windrow.server.client import Client

_VERBS = ("START", "STOP", "PAUSE", "RESUME", "RESTART", "DEPLOY", "ROLLBACK")
_SHOWS = ("JOBS", "STATUS", "VERSIONS", "METRICS")
_JOB = re.compile(r"[A-Za-z][\w-]{0,62}(@[\w-]{1,63})?")
WORDS = {
    "START JOB orders": "START, STOP, PAUSE, RESUME or RESTART a job of a server",
    "DEPLOY JOB orders FROM 'orders.sql'": "a file as a new version of a job, or as a new job",
    "ROLLBACK JOB orders TO 1": "back to a version; to the one before without TO",
    "SHOW JOBS": "every job; SHOW STATUS, VERSIONS or METRICS OF orders: one of them",
}


@dataclass(frozen=True)
class Outside:
    """``client`` is that of a server; without one system tables are read from the folders below ``root``."""

    client: Client | None
    root: Path

    def answer(self, text: str) -> str | None:
        """None where the statement is not one of these."""
        from windrow.jobs.system_sql import tables_named

        words = [token for token in tokenize(text) if token.kind is not Kind.END and token.key != ";"]
        keys = [token.key or token.text.upper() for token in words]
        if tables_named(text):
            return self._select(text)
        if len(keys) > 1 and keys[0] in _VERBS and keys[1] == "JOB":
            return self._change(keys[0], text, [token.text for token in words[2:]])
        if self.client is not None and len(keys) > 1 and keys[0] == "SHOW" and keys[1] in _SHOWS:
            return self._show(keys[1], text)
        if self.client is None and len(keys) > 1 and keys[0] == "SHOW" and keys[1] in _SHOWS[1:]:
            raise _no_server()
        return None

    def _select(self, text: str) -> str:
        if self.client is not None:
            told = self.client.query(text)
            return table_text(told["columns"], told["rows"], is_cut=told["is_cut"])
        from windrow.server.system_tables import answer
        from windrow.server.system_world import LocalWorld

        found = answer(text, LocalWorld(self.root))
        return table_text(found.columns, found.rows, is_cut=found.is_cut)

    def _change(self, verb: str, text: str, rest: list[str]) -> str:
        if self.client is None:
            raise _no_server()
        said = re.fullmatch(r"\s*\w+\s+JOB\s+(?:\"([^\"]+)\"|`([^`]+)`|([\w@-]+))\s*(.*?)[\s;]*", text, re.IGNORECASE | re.DOTALL)
        name = next((one for one in said.groups()[:3] if one), "") if said is not None else ""
        tail = said[4] if said is not None else ""
        if not _JOB.fullmatch(name):
            raise UsageError(codes.BAD_VALUE, f"{verb} JOB needs the name of a job", f"{verb} JOB {rest[0] if rest else 'orders'}")
        match verb:
            case "DEPLOY":
                return self._deploy(self.client, name, tail)
            case "ROLLBACK":
                return self._roll_back(self.client, name, tail)
            case _:
                return self._wish(self.client, verb, name, tail)

    def _wish(self, client: Client, verb: str, name: str, tail: str) -> str:
        _refuse_rest(tail, f"{verb} JOB {name}")
        asks: dict[str, Callable[[str], None]] = {
            "START": client.start, "RESUME": client.start, "STOP": client.stop, "PAUSE": client.pause, "RESTART": client.restart,
        }  # fmt: skip
        asks[verb](name)
        job = client.job(name)
        return f"{name}: {job['observed']}, and is to be {job['desired']}"

    def _deploy(self, client: Client, name: str, tail: str) -> str:
        from windrow.cli.sending import parcel_of

        said = re.fullmatch(r"FROM\s+'([^']+)'(?:\s+MESSAGE\s+'([^']*)')?", tail, re.IGNORECASE)
        if said is None:
            raise UsageError(codes.BAD_VALUE, "DEPLOY JOB needs a file", f"DEPLOY JOB {name} FROM '{name.partition('@')[0]}.sql'")
        parcel = parcel_of(said[1])
        pipeline, _, env = name.partition("@")
        job = client.deploy(pipeline, parcel.sql, said[2] or "", env=env, project=parcel.project, files=parcel.files)
        return f"{job['name']}: version {job['version']} is deployed"

    def _roll_back(self, client: Client, name: str, tail: str) -> str:
        said = re.fullmatch(r"(?:TO\s+(?:VERSION\s+)?(\d{1,9}))?", tail, re.IGNORECASE)
        if said is None:
            raise UsageError(codes.BAD_VALUE, f'"{tail}" is no version to go back to', f"ROLLBACK JOB {name} TO 1")
        done = client.rollback(name, None if said[1] is None else int(said[1]))
        return f"{name}: {done['step']}"

    def _show(self, what: str, text: str) -> str:
        assert self.client is not None
        said = re.fullmatch(r"\s*SHOW\s+\w+(?:\s+(?:OF\s+|FOR\s+)?(?:JOB\s+)?[\"`]?([\w@-]+)[\"`]?)?[\s;]*", text, re.IGNORECASE)
        if said is None or (what in ("VERSIONS",) and said[1] is None):
            raise UsageError(codes.BAD_VALUE, f"SHOW {what} cannot be read", f"SHOW {what} OF orders")
        jobs = [self.client.job(said[1])] if said[1] else self.client.jobs() if what != "VERSIONS" else []
        if what == "VERSIONS":
            columns = ("n", "created_at", "author", "message")
            return table_text(columns, [tuple(_cell(key, one[key]) for key in columns) for one in self.client.versions(said[1])])
        if what == "METRICS":
            return table_text(("job", "metric", "value"), list(_metrics(jobs)))
        shown = ("name", "observed", "desired", "version", "why")
        return table_text(shown, [tuple(one[key] for key in shown) for one in jobs])


def _metrics(jobs: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """The numbers that each job says of itself."""
    for job in jobs:
        for one in job["jobs"]:
            for key, value in one.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield one["job"], key, value


def _cell(key: str, value: Any) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S") if key == "created_at" else value


def table_text(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, is_cut: bool = False) -> str:
    """Rows for people; the last line says that there are more."""
    shown = [tuple("" if cell is None else str(cell).replace("\n", " ") for cell in row) for row in rows]
    if not shown:
        return "no rows"
    lines = aligned(columns, shown) if len(columns) > 1 else [columns[0], *(row[0] for row in shown)]
    return "\n".join([*lines, *(["..."] if is_cut else [])])


def _refuse_rest(tail: str, statement: str) -> None:
    if tail:
        raise UsageError(codes.BAD_VALUE, f'"{tail}" says nothing here', statement)


def _no_server() -> UsageError:
    return UsageError(codes.BAD_VALUE, "this is for the jobs of a server", "windrow sql --server http://127.0.0.1:8484")
