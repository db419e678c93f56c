"""Whether jobs live, have started and are ready, each with its parts and the reason of every part that is not well."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windrow.observe.status import ENDED, FAILED, RUNNING, STARTING, STOPPED, JobStatus, SourceStatus, TableLoad
from windrow.resilience import CLOSED

# States in which a job has come to its end: nothing is wrong with it, and nothing more will come.
OVER = (ENDED, STOPPED)


@dataclass(frozen=True)
class Part:
    """One thing that was looked at. ``why`` is empty while it is well."""

    job: str
    name: str
    why: str = ""

    @property
    def is_well(self) -> bool:
        return not self.why

    def to_json(self) -> dict[str, Any]:
        return {"job": self.job, "part": self.name, "ok": self.is_well, **({"why": self.why} if self.why else {})}


@dataclass(frozen=True)
class Health:
    """``parts`` is empty only before any job is there, which is told in ``why``."""

    parts: tuple[Part, ...]
    why: str = ""

    @property
    def is_well(self) -> bool:
        return not self.why and all(part.is_well for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        reasons = ([self.why] if self.why else []) + [f"{part.job}: {part.why}" for part in self.parts if part.why]
        return {"ok": self.is_well, "reasons": reasons, "parts": [part.to_json() for part in self.parts]}


_NO_JOB = "Spark is starting: no job has begun yet"


def started(statuses: Sequence[JobStatus]) -> Health:
    """Whether every job has come as far as taking batches."""
    parts = tuple(Part(one.job, "started", _starting(one) if one.state == STARTING else _failed(one)) for one in statuses)
    return Health(parts, "" if statuses else _NO_JOB)


def ready(statuses: Sequence[JobStatus], stalled_after: float, now: float | None = None) -> Health:
    """Whether every job does its work: it runs, its tables are there, nobody it talks to is away, and batches become durable."""
    at = time.time() if now is None else now
    found: list[Part] = []
    for one in statuses:
        found.append(Part(one.job, "state", _state(one)))
        found.append(Part(one.job, "tables", _tables(one)))
        found.append(Part(one.job, "systems", _systems(one)))
        found.append(Part(one.job, "progress", _progress(one, stalled_after, at)))
        found.append(Part(one.job, "ledger", "" if one.ledger.is_balanced else "rows that came in are not all accounted for"))
    return Health(tuple(found), "" if statuses else _NO_JOB)


def _starting(status: JobStatus) -> str:
    loading = [_loading(table) for table in status.tables if not table.is_done]
    return f"starting: {'; '.join(loading)}" if loading else "starting"


def _failed(status: JobStatus) -> str:
    return (status.error or "failed") if status.state == FAILED else ""


def _state(status: JobStatus) -> str:
    if status.state == RUNNING:
        return ""
    if status.state == STARTING:
        return _starting(status)
    first = (status.error or "").splitlines()
    return f"{status.state}: {first[0]}" if first else status.state


def _tables(status: JobStatus) -> str:
    return "; ".join(_loading(table) for table in status.tables if not table.is_done)


def _loading(table: TableLoad) -> str:
    total = "" if table.total is None else f" of about {table.total:,}"
    return f"table {table.table} is loading: {table.rows:,}{total} rows"


def _systems(status: JobStatus) -> str:
    away = [one for one in status.systems if one.state != CLOSED]
    return "; ".join(f"{one.system} does not answer ({one.failures} failures): {one.error}" for one in away)


def _progress(status: JobStatus, stalled_after: float, now: float) -> str:
    """A job without new rows has no batch to make: only rows that wait, or a batch that does not end, are a reason."""
    if status.state != RUNNING:
        return ""
    if status.batch_since is not None and now - status.batch_since > stalled_after:
        return f"batch {status.batch_id + 1} has been under way for {now - status.batch_since:.0f} s"
    waiting = sum(sum((source.backlog or {}).values()) + (source.backlog_files or 0) for source in status.sources)
    since = status.committed_at or status.started_at
    if waiting and status.batch_since is None and since is not None and now - since > stalled_after:
        return f"no batch was committed for {now - since:.0f} s, and {waiting:,} rows or files wait to be read"
    return ""


def tables(statuses: Sequence[JobStatus]) -> list[dict[str, Any]]:
    return [table_json(status, table) for status in statuses for table in status.tables]


def table_json(status: JobStatus, table: TableLoad) -> dict[str, Any]:
    stale = status.stale_tables.get(table.table)
    state = "loading" if not table.is_done else "stale" if stale else "ready"
    return {
        "job": status.job,
        "table": table.table,
        "state": state,
        "rows": table.rows,
        "estimated_rows": table.total,
        "seconds": round(table.seconds, 3),
        "rows_per_second": round(table.rows_per_second, 1),
        "seconds_left": None if table.is_done else table.seconds_left,
        "why": stale,
    }


def progress(statuses: Sequence[JobStatus]) -> list[dict[str, Any]]:
    """How far every job has come."""
    return [
        {
            "job": one.job,
            "state": one.state,
            "batch_id": one.batch_id,
            "rows_in": one.rows_in,
            "rows_per_second": one.rows_per_second,
            "batch_seconds": one.batch_seconds,
            "committed_at": one.committed_at,
            "batch_since": one.batch_since,
            "watermark": one.watermark,
            "lag_seconds": one.lag_seconds,
            "sources": [_source_json(source) for source in one.sources],
            "tables": [table_json(one, table) for table in one.tables],
        }
        for one in statuses
    ]


def _source_json(source: SourceStatus) -> dict[str, Any]:
    idle = [part.partition for part in source.partitions if part.is_idle]
    return {
        "source": source.source,
        "newest": source.newest,
        "partitions": len(source.partitions),
        "idle_partitions": idle,
        "backlog_rows": None if source.backlog is None else sum(source.backlog.values()),
        "backlog_files": source.backlog_files,
        "behind_seconds": source.behind_seconds,
        "batch_limit": source.batch_limit,
    }


def connections(statuses: Sequence[JobStatus]) -> list[dict[str, Any]]:
    """The systems outside that this process talks to, which its jobs share."""
    known = {one.system: one for status in statuses for one in status.systems}
    return [
        {
            "system": one.system,
            "ok": one.state == CLOSED,
            "breaker": one.state,
            "failures": one.failures,
            "retries": one.retries,
            "error": one.error,
            "since": one.since,
        }
        for one in known.values()
    ]
