"""What the system tables hold: the rows of what the page shows, for SELECT. Each is made when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from windrow.errors import WindrowError
from windrow.jobs.letter_requests import plain
from windrow.jobs.letters import LetterFilter, read_letters
from windrow.jobs.system_sql import Columns, Result, checked, run
from windrow.lineage import Lineage
from windrow.server import job_views
from windrow.server.job_views import JobFile
from windrow.server.topology import nodes_of

_MOST = 5000
Row = tuple[Any, ...]


class World(Protocol):
    """Where rows come from: a server, or folders of state on this machine."""

    def jobs(self) -> Iterable[Mapping[str, Any]]: ...
    def files(self) -> Iterable[JobFile]: ...
    def events(self) -> Iterable[Mapping[str, Any]]: ...
    def alerts(self) -> Iterable[Mapping[str, Any]]: ...
    def lineage(self) -> Lineage: ...


@dataclass(frozen=True)
class SystemTable:
    """``holds_data``: its rows have values of what came in."""

    columns: Columns
    rows: Callable[[World], Iterator[Row]]
    doc: str
    holds_data: bool = False


def _picked(told: Iterable[Mapping[str, Any]], columns: Columns) -> Iterator[Row]:
    for one in told:
        yield tuple(one.get(name) for name in columns)


def _of_every_file(world: World, rows: Callable[[JobFile], Iterable[Row]]) -> Iterator[Row]:
    """Of a job that cannot be read there are no rows; the others have theirs."""
    for file in world.files():
        try:
            yield from list(rows(file))
        except WindrowError:
            continue


def _batches(world: World) -> Iterator[Row]:
    def rows(file: JobFile) -> Iterable[Row]:
        for job in job_views.batches(file, _MOST, None):
            for one in job["batches"]:
                dead = sum(one["dead_letters"].values())
                counts = (one["rows_in"], one["rows_out"], dead)
                mark = None if one["watermark"] is None else one["watermark"] // 1000
                ends = (mark, one["state_bytes"], one["balanced"], one["replayed"], json.dumps(one["phases"]))
                yield (file.name, job["job"], one["batch_id"], one["attempt"], one["at"] // 1000, one["seconds"], *counts, *ends)

    return _of_every_file(world, rows)


def _operators(world: World) -> Iterator[Row]:
    names = tuple(OPERATORS)[1:]
    return _of_every_file(world, lambda file: (_operator(file.name, node, names) for node in nodes_of(file, 1000)))


def _operator(name: str, node: Mapping[str, Any], names: tuple[str, ...]) -> Row:
    sums = {key: None if node.get(key) is None else sum(node[key].values()) for key in ("dead", "dropped")}
    told = {**node, **sums, "operator": node["name"], "watermark": None if node.get("watermark") is None else node["watermark"] // 1000}
    return (name, *(told.get(key) for key in names))


def _windows(world: World) -> Iterator[Row]:
    def rows(file: JobFile) -> Iterable[Row]:
        for one in job_views.windows(file):
            for held in one["held"]:
                key = ", ".join(f"{name}={value}" for name, value in held["key"].items())
                bounds = (None if held[end] is None else held[end] // 1000 for end in ("start", "end"))
                mark = None if one["watermark"] is None else one["watermark"] // 1000
                yield (file.name, one["job"], one["statement"], key, *bounds, held["rows"], mark)

    return _of_every_file(world, rows)


def _letters(world: World) -> Iterator[Row]:
    wanted = LetterFilter(with_replayed=True)

    def rows(file: JobFile) -> Iterable[Row]:
        for own in read_letters(file.state) if file.observed else ():
            for letter in list(own.meant_by(wanted))[-_MOST:]:
                told, at = plain(letter), letter["arrived_at"]
                when = None if at is None else int(at.timestamp() * 1000)
                raw = told.get("raw")
                ends = (told.get("message"), json.dumps(raw) if isinstance(raw, dict) else raw, letter["replay"] is not None)
                yield (file.name, own.job, letter["id"], when, letter["code"], letter["source"], letter["statement"], *ends)

    return _of_every_file(world, rows)


def _lineage(world: World) -> Iterator[Row]:
    for edge in world.lineage().edges:
        ends = (edge.output.dataset, edge.output.column, edge.input.dataset, edge.input.column)
        made = ("DIRECT" if edge.kind.is_direct else "INDIRECT", edge.kind.value.upper())
        yield (ends[0].namespace, ends[0].name, ends[1], ends[2].namespace, ends[2].name, ends[3], *made, edge.expr)


JOBS: Columns = {
    "name": "text", "pipeline": "text", "env": "text", "version": "number", "desired": "text", "observed": "text", "why": "text",
    "owner": "text", "team": "text", "changed_at": "time", "rows_in": "number", "emitted": "number", "late": "number",
    "dead_letters": "number", "rows_per_second": "real", "lag_seconds": "real", "batch_id": "number", "batch_seconds": "real",
    "open_windows": "number", "state_bytes": "number", "balanced": "truth",
}  # fmt: skip
BATCHES: Columns = {
    "name": "text", "job": "text", "batch_id": "number", "attempt": "number", "at": "time", "seconds": "real", "rows_in": "number",
    "rows_out": "number", "dead_letters": "number", "watermark": "time", "state_bytes": "number", "balanced": "truth",
    "replayed": "number", "phases": "text",
}  # fmt: skip
OPERATORS: Columns = {
    "name": "text", "job": "text", "operator": "text", "kind": "text", "title": "text", "rows_in": "number", "rows_out": "number",
    "passed": "number", "filtered": "number", "dead": "number", "dropped": "number", "seconds": "real", "share": "real",
    "rows_held": "number", "bytes_held": "number", "open": "number", "watermark": "time", "is_cause": "truth",
}  # fmt: skip
WINDOWS: Columns = {
    "name": "text", "job": "text", "statement": "text", "key": "text", "starts_at": "time", "ends_at": "time", "rows": "number",
    "watermark": "time",
}  # fmt: skip
LETTERS: Columns = {
    "name": "text", "job": "text", "id": "text", "at": "time", "code": "text", "source": "text", "statement": "text",
    "message": "text", "raw": "text", "is_replayed": "truth",
}  # fmt: skip
EVENTS: Columns = {"seq": "number", "at": "time", "level": "text", "type": "text", "pipeline": "text", "message": "text"}
ALERTS: Columns = {
    "id": "text", "rule": "text", "job": "text", "level": "text", "state": "text", "summary": "text", "value": "real", "since": "time",
    "changed_at": "time", "acknowledged_by": "text",
}  # fmt: skip
LINEAGE: Columns = {
    "out_job": "text", "out_dataset": "text", "out_column": "text", "in_job": "text", "in_dataset": "text", "in_column": "text",
    "type": "text", "subtype": "text", "expr": "text",
}  # fmt: skip

TABLES: dict[str, SystemTable] = {
    "jobs": SystemTable(JOBS, lambda world: _picked(world.jobs(), JOBS), "every job: what it should do and does, with sums"),
    "batches": SystemTable(BATCHES, _batches, "the batches that are recorded"),
    "operators": SystemTable(OPERATORS, _operators, "the operators of every job, with sums over the last run"),
    "windows": SystemTable(WINDOWS, _windows, "windows and groups that are open", holds_data=True),
    "dead_letters": SystemTable(LETTERS, _letters, "rows that were set aside", holds_data=True),
    "events": SystemTable(EVENTS, lambda world: _picked(world.events(), EVENTS), "what happened"),
    "alerts": SystemTable(ALERTS, lambda world: _picked(world.alerts(), ALERTS), "alerts that are and were"),
    "lineage": SystemTable(LINEAGE, _lineage, "which columns follow from which"),
}


def tables_of(world: World, names: Iterable[str]) -> dict[str, tuple[Columns, list[Row]]]:
    return {name: (TABLES[name].columns, list(TABLES[name].rows(world))) for name in dict.fromkeys(names)}


def answer(sql: str, world: World) -> Result:
    """In this process: for a query of one's own."""
    text, names = checked(sql, TABLES)
    return run(text, tables_of(world, names))
