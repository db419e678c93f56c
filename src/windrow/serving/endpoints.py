"""What is answered at which path. A request is a method, a path and its query; an answer a status, a type and bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any
from urllib.parse import unquote

from windrow.observe.prometheus import exposition, registry_of
from windrow.observe.samples import metrics_json
from windrow.observe.status import JobStatus
from windrow.serving import health

JSON = "application/json; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
Statuses = Callable[[], Sequence[JobStatus]]
# How long a request may wait for a table, and how often it looks.
MOST_WAIT, WAIT, LOOK = 600.0, 30.0, 0.2
STALLED_AFTER = 120.0

PATHS: dict[str, str] = {
    "/": "this list",
    "/metrics": "metrics for Prometheus, as text or OpenMetrics",
    "/status": "everything a job says of itself",
    "/health/live": "whether the process answers",
    "/health/startup": "whether every job takes batches",
    "/health/ready": "whether every job does its work, and else why not",
    "/health/tables": "the tables that jobs load, with their progress",
    "/health/table/{name}": "one of them",
    "/health/table/{name}/wait": "POST: waits until it is loaded (?timeout=30)",
    "/health/progress": "how far every job has come",
    "/health/connections": "the systems outside that jobs talk to",
    "/health/metrics": "the metrics as JSON, those of annotations among them",
}


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] | None = None


def answer_json(data: Any, status: int = 200) -> Answer:
    return Answer(status, (json.dumps(data, default=str) + "\n").encode())


def problem(status: int, message: str, hint: str = "") -> Answer:
    return answer_json({"error": message, **({"hint": hint} if hint else {})}, status)


class Pausing:
    """A wish that jobs stop where they are with Spark kept ready, and whether they have come to that."""

    def __init__(self) -> None:
        self.wanted = Event()
        self.reached = Event()


class Endpoints:
    """``closing`` is set when the server ends: whoever waits gives up. ``pausing`` is for those who may tell the jobs to pause."""

    def __init__(self, statuses: Statuses, closing: Event, stalled_after: float = STALLED_AFTER, pausing: Pausing | None = None) -> None:
        self._statuses = statuses
        self._closing = closing
        self._stalled_after = stalled_after
        self._pausing = pausing
        self._registry = registry_of(statuses)
        self._pages: dict[str, Callable[[], Answer]] = {
            "/": lambda: answer_json({"endpoints": PATHS}),
            "/status": self._status,
            "/health/live": lambda: answer_json({"ok": True}),
            "/health/startup": lambda: _judged(health.started(self._statuses())),
            "/health/ready": lambda: _judged(health.ready(self._statuses(), self._stalled_after)),
            "/health/tables": lambda: answer_json({"tables": health.tables(self._statuses())}),
            "/health/progress": lambda: answer_json({"jobs": health.progress(self._statuses())}),
            "/health/connections": lambda: answer_json({"connections": health.connections(self._statuses())}),
            "/health/metrics": lambda: answer_json({"metrics": metrics_json(self._statuses())}),
        }

    def answer(self, method: str, path: str, query: Mapping[str, str], accept: str = "") -> Answer:
        known = path.rstrip("/") or "/"
        table = _table_of(known)
        if table is not None:
            name, is_wait = table
            wanted = "POST" if is_wait else "GET"
            if method != wanted and not (wanted == "GET" and method == "HEAD"):
                return _not_allowed(wanted)
            return self._wait(name, query) if is_wait else self._table(name)
        if known in ("/pause", "/resume") and self._pausing is not None:
            return self._pause(self._pausing, known == "/pause") if method == "POST" else _not_allowed("POST")
        if known != "/metrics" and known not in self._pages:
            return problem(404, f"there is nothing at {path}", f"there are {', '.join(PATHS)}")
        if method not in ("GET", "HEAD"):
            return _not_allowed("GET")
        return self._metrics(accept) if known == "/metrics" else self._pages[known]()

    def _status(self) -> Answer:
        told: dict[str, Any] = {"jobs": [one.to_json() for one in self._statuses()]}
        return answer_json(told if self._pausing is None else {**told, "paused": self._pausing.reached.is_set()})

    def _pause(self, pausing: Pausing, is_wanted: bool) -> Answer:
        (pausing.wanted.set if is_wanted else pausing.wanted.clear)()
        return answer_json({"pausing": is_wanted}, 202)

    def _metrics(self, accept: str) -> Answer:
        content_type, body = exposition(self._registry, accept)
        return Answer(200, body, content_type)

    def _find(self, name: str) -> list[dict[str, Any]]:
        return [table for table in health.tables(self._statuses()) if table["table"].lower() == name.lower()]

    def _table(self, name: str) -> Answer:
        found = self._find(name)
        return answer_json(found[0]) if found else self._no_table(name)

    def _no_table(self, name: str) -> Answer:
        known = ", ".join(sorted({table["table"] for table in health.tables(self._statuses())}))
        return problem(404, f'no job loads a table "{name}"', f"there are {known}" if known else "no table has begun to load")

    def _wait(self, name: str, query: Mapping[str, str]) -> Answer:
        """Until the table is loaded, which it may not even have begun to be."""
        try:
            timeout = min(MOST_WAIT, float(query.get("timeout", WAIT)))
        except ValueError:
            return problem(400, f'"{query["timeout"]}" is no number of seconds', "?timeout=30")
        deadline = time.monotonic() + timeout
        while True:
            found = self._find(name)
            if found and found[0]["state"] != "loading":
                return answer_json(found[0])
            statuses = self._statuses()
            if not found and statuses and all(one.state != "starting" for one in statuses):
                return self._no_table(name)
            if time.monotonic() >= deadline or self._closing.wait(LOOK):
                return answer_json(found[0] if found else {"table": name, "state": "unknown"}, 504)


def _table_of(path: str) -> tuple[str, bool] | None:
    """The table that a path names, and whether to wait for it.

    >>> _table_of("/health/table/rates/wait"), _table_of("/health/tables")
    (('rates', True), None)
    """
    parts = path.split("/")
    if parts[:3] != ["", "health", "table"] or len(parts) not in (4, 5) or parts[4:] not in ([], ["wait"]):
        return None
    return unquote(parts[3]), len(parts) == 5


def _judged(found: health.Health) -> Answer:
    return answer_json(found.to_json(), 200 if found.is_well else 503)


def _not_allowed(wanted: str) -> Answer:
    found = problem(405, f"this is asked for by {wanted}")
    return Answer(found.status, found.body, found.content_type, {"Allow": wanted})
