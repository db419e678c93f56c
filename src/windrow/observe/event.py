"""Events: what somebody who watches a job wants to be told once, found by comparing its status with the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from windrow.observe.status import EXECUTORS, FAILED, WAITING, JobStatus, UnreadFile
from windrow.resilience import CLOSED

INFO, WARNING, ERROR = "info", "warning", "error"

TYPES: dict[str, str] = {
    "job.state": "the job has started, waits, has stopped, ended or failed",
    "table.loaded": "a table is loaded",
    "table.stale": "a table was not refreshed: what was loaded before is in force",
    "table.fresh": "a table that was stale was refreshed",
    "watermark.stalled": "rows come in, and the watermark has not moved for five minutes",
    "watermark.moved": "a watermark that had stalled goes on",
    "window.late_burst": "more than 1 % of the rows since the last look came late, and at least 10",
    "files.unread": "files that cannot be read were left out: their rows are in no number",
    "letters.written": "rows were set aside",
    "letters.rule": "rows were set aside that a [rule](dead-letters.md#rules) wants to be told of",
    "system.down": "a system outside does not answer, and is not called for a while",
    "system.up": "it answers again",
    "state.moved": "the state of a statement has moved to the executors",
    "state.evicted": "state was let go early, to stay within a limit",
    "state.limit": "70, 85 or 95 % of a limit of the state are used",
    "alert.firing": "an [`@alert`](#alerts) of the file has held for as long as it says",
    "alert.resolved": "it holds no more",
}
STALLED_SECONDS = 300.0
LEVELS = (0.95, 0.85, 0.7)
_BURST_SHARE, _BURST_ROWS = 0.01, 10
# Of files that could not be read, an event names so many.
_MOST_FILES = 20


@dataclass(frozen=True)
class Event:
    """``at`` is in seconds since the epoch. ``details`` are plain values."""

    type: str
    level: str
    job: str
    batch_id: int
    message: str
    at: float
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        told = {"type": self.type, "level": self.level, "job": self.job, "batch_id": self.batch_id, "message": self.message}
        return {"at": datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds"), **told, "details": dict(self.details)}


@dataclass
class EventFinder:
    """Sees the status of one job again and again. What has changed since the last time is an event."""

    job: str
    _before: JobStatus | None = None
    _marked_at: float | None = None
    _rows_at_mark: int = 0
    _is_stalled: bool = False
    _levels: dict[str, float] = field(default_factory=dict)

    def see(self, status: JobStatus, now: float) -> list[Event]:
        found = [
            Event(kind, level, self.job, status.batch_id, message, now, details)
            for kind, level, message, details in self._changes(self._before or JobStatus(self.job, ""), status, now)
        ]
        self._before = status
        return found

    def _changes(self, before: JobStatus, after: JobStatus, now: float) -> Iterator[_Change]:
        yield from _states(before, after)
        yield from _tables(before, after)
        yield from _systems(before, after)
        yield from self._watermark(before, after, now)
        if before.state and after.batch_id != before.batch_id:
            yield from _rows(before, after)
        if before.state or after.about.starts <= 1:
            yield from _files(before, after)
        yield from _state_moves(before, after)
        yield from self._limits(after)

    def _watermark(self, before: JobStatus, after: JobStatus, now: float) -> Iterator[_Change]:
        if self._marked_at is None or after.watermark != before.watermark or after.watermark is None:
            if self._is_stalled:
                yield "watermark.moved", INFO, "the watermark goes on", {"watermark": after.watermark}
            self._marked_at, self._rows_at_mark, self._is_stalled = now, after.rows_in, False
        elif not self._is_stalled and now - self._marked_at >= STALLED_SECONDS and after.rows_in > self._rows_at_mark:
            self._is_stalled = True
            held = after.held_by
            place = "" if held is None else f": {held.source} partition {held.partition} holds it back"
            details = {} if held is None else {"source": held.source, "partition": held.partition, "reached": held.reached}
            rows = after.rows_in - self._rows_at_mark
            message = f"{rows:,} rows came in, and the watermark has not moved for {now - self._marked_at:.0f} s{place}"
            yield "watermark.stalled", WARNING, message, details

    def _limits(self, status: JobStatus) -> Iterator[_Change]:
        groups = max((operator.state.windows for operator in status.operators), default=0)
        used = {"state.max_bytes": status.state_bytes, "state.max_groups": groups}
        for name, limit in status.limits.items():
            share = used.get(name, 0) / limit
            level = next((level for level in LEVELS if share >= level), 0.0)
            if level > self._levels.get(name, 0.0):
                message = f"{share:.0%} of {name} = {limit:,} are used; at 100 % the job stops"
                yield "state.limit", WARNING if level < LEVELS[0] else ERROR, message, {"limit": name, "share": round(share, 4)}
            self._levels[name] = level


_Change = tuple[str, str, str, dict[str, Any]]


def _states(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    if after.state == before.state:
        return
    level = ERROR if after.state == FAILED else WARNING if after.state == WAITING else INFO
    first = (after.error or "").splitlines()[:1] if level != INFO else []
    yield (
        "job.state",
        level,
        " ".join([after.state, *(f"({line})" for line in first)]),
        {"state": after.state, "before": before.state or None},
    )


def _tables(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    done = {table.table for table in before.tables if table.is_done}
    for table in after.tables:
        if table.is_done and table.table not in done:
            message = f"table {table.table} is loaded: {table.rows:,} rows in {table.seconds:.1f} s"
            yield "table.loaded", INFO, message, {"table": table.table, "rows": table.rows, "seconds": table.seconds}
    for name, why in after.stale_tables.items():
        if name not in before.stale_tables:
            yield "table.stale", WARNING, f"table {name} was not refreshed: {why}", {"table": name, "why": why}
    for name in before.stale_tables:
        if name not in after.stale_tables:
            yield "table.fresh", INFO, f"table {name} was refreshed", {"table": name}


def _systems(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    was = {one.system: one.state for one in before.systems}
    for one in after.systems:
        is_down, was_down = one.state != CLOSED, was.get(one.system, CLOSED) != CLOSED
        if is_down and not was_down:
            yield "system.down", WARNING, f"{one.system} does not answer: {one.error}", {"system": one.system, "failures": one.failures}
        elif was_down and not is_down:
            yield "system.up", INFO, f"{one.system} answers again", {"system": one.system}


def _rows(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    rows, late, dead = after.rows_in - before.rows_in, after.late - before.late, after.dead_letters - before.dead_letters
    if late >= _BURST_ROWS and late > _BURST_SHARE * rows:
        yield "window.late_burst", WARNING, f"{late:,} of {rows:,} rows came late", {"late": late, "rows": rows}
    if dead > 0:
        codes = after.ledger.dead_letters - before.ledger.dead_letters
        told = ", ".join(f"{code} {count:,}" for code, count in sorted(codes.items()))
        yield "letters.written", WARNING, f"{dead:,} rows were set aside: {told}", {"codes": dict(codes)}


def _files(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    """One event for each source, so that a folder of torn files is not told file by file."""
    new: dict[str, list[UnreadFile]] = {}
    for file in after.unread_files:
        if file not in before.unread_files:
            new.setdefault(file.source, []).append(file)
    for source, files in new.items():
        first, count = files[0], "1 file" if len(files) == 1 else f"{len(files):,} files"
        told = {one.path: one.why for one in files[:_MOST_FILES]}
        message = f"{count} of {source} could not be read: {first.path} ({first.why}){', and others' if len(files) > 1 else ''}"
        yield "files.unread", WARNING, message, {"source": source, "count": len(files), "files": told}


def _state_moves(before: JobStatus, after: JobStatus) -> Iterator[_Change]:
    homes = {operator.name: operator.state.home for operator in before.operators}
    for operator in after.operators:
        if operator.state.home == EXECUTORS and homes.get(operator.name, EXECUTORS) != EXECUTORS:
            details = {"statement": operator.name, "bytes": operator.state.bytes}
            yield "state.moved", INFO, f"the state of {operator.name} is with the executors from now on", details
    evicted = after.counts.evicted - before.counts.evicted
    if evicted > 0:
        yield "state.evicted", WARNING, f"{evicted:,} rows of state were let go early", {"rows": evicted}
