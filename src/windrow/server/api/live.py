"""The stream that a page lives on: everything once, then what has changed, once a second.

Numbers count from 0 in every connection. Nothing is kept for one that broke off: the next begins with a snapshot, and so does whoever
misses a number. So a page is never more wrong than one connection is long.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from windrow.server.api.routes import REFUSALS, Asked, Reader
from windrow.server.api.security import token_of
from windrow.server.api.view_shapes import STREAM
from windrow.server.registry import now_millis
from windrow.server.service import Job, Service

live_stream = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["events"])

PAUSE_SECONDS, BEAT_SECONDS = 1.0, 15.0
_MOST_EVENTS = 50
# Of a job's own status, what is added up over the jobs of its file, and what is the greatest of them.
_SUMS = ("rows_in", "rows_per_second", "emitted", "late", "dead_letters", "open_windows", "state_bytes")
_GREATEST = ("lag_seconds", "batch_seconds", "committed_at", "batch_id")
# Long, and the same from one batch to the next.
_LEFT_OUT = frozenset({"fast_paths", "metric_help"})


def summary(job: Job) -> dict[str, Any]:
    """A job as lists show it. Numbers are None while it does not run."""
    jobs = list((job.status or {}).get("jobs", ()))
    told: dict[str, Any] = {**asdict(job.pipeline), **asdict(job.deployment)}
    told.pop("pipeline", None)
    for name in _SUMS:
        told[name] = sum(one.get(name) or 0 for one in jobs) if jobs else None
    for name in _GREATEST:
        told[name] = max((one[name] for one in jobs if one.get(name) is not None), default=None)
    marks = [one.get("watermark") for one in jobs]
    told["watermark"] = None if not marks or None in marks else min(marks)
    told["backlog"] = _backlog(jobs)
    told["balanced"] = all(one.get("balanced", True) for one in jobs)
    told["away"] = [one["system"] for job_ in jobs for one in job_.get("systems", ()) if one.get("state") != "closed"]
    told["stale"] = sorted(name for one in jobs for name in one.get("stale_tables") or {})
    return told


def _backlog(jobs: list[dict[str, Any]]) -> dict[str, int] | None:
    """Rows and files that wait to be read, where a source says so."""
    sources = [source for one in jobs for source in one.get("sources", ())]
    rows = [sum(source["backlog"].values()) for source in sources if source.get("backlog") is not None]
    files = [source["backlog_files"] for source in sources if source.get("backlog_files") is not None]
    return {"rows": sum(rows), "files": sum(files)} if rows or files else None


class _Seen:
    """What one connection was told, so that it is told what has changed."""

    def __init__(self, service: Service, watch: str | None) -> None:
        self._service = service
        self._watch = watch
        self._jobs: dict[str, dict[str, Any]] = {}
        self._watched: Any = None
        self._after = 0

    def snapshot(self) -> dict[str, Any]:
        newest = self._service.registry.events(0, None, _MOST_EVENTS, newest=True)
        self._after = newest[-1].seq if newest else 0
        jobs, self._watched = self._look()
        self._jobs = jobs
        return {"at": now_millis(), "jobs": list(jobs.values()), "watched": self._watched, "events": [asdict(one) for one in newest]}

    def delta(self) -> dict[str, Any]:
        """Empty where nothing has changed."""
        jobs, watched = self._look()
        told: dict[str, Any] = {}
        if changed := [one for name, one in jobs.items() if self._jobs.get(name) != one]:
            told["jobs"] = changed
        if gone := [name for name in self._jobs if name not in jobs]:
            told["gone"] = gone
        if watched != self._watched:
            told["watched"] = watched
        if events := self._service.registry.events(self._after, None, _MOST_EVENTS):
            self._after = events[-1].seq
            told["events"] = [asdict(one) for one in events]
        self._jobs, self._watched = jobs, watched
        return {**told, "at": now_millis()} if told else {}

    def _look(self) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]] | None]:
        jobs = self._service.jobs()
        watched = next((_status(one.status) for one in jobs if one.deployment.name == self._watch), None)
        return {one.deployment.name: summary(one) for one in jobs}, watched


def _status(status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [{name: value for name, value in one.items() if name not in _LEFT_OUT} for one in (status or {}).get("jobs", ())]


@live_stream.get(
    "/live",
    summary="Every job and what happens, as server-sent events: a snapshot, then what changes",
    response_class=StreamingResponse,
    responses=STREAM,
)
async def stream_live(
    request: Request,
    service: Asked,
    _: Reader,
    watch: Annotated[str | None, Query(max_length=130, description="the job whose own status is told as well")] = None,
) -> StreamingResponse:
    return StreamingResponse(_stream(request, _Seen(service, watch)), media_type="text/event-stream")


async def _stream(request: Request, seen: _Seen) -> AsyncIterator[str]:
    number, silent = 0, 0.0
    secrets = request.app.state.service.secrets
    yield f"retry: 2000\n{_message('snapshot', number, secrets.without(await anyio.to_thread.run_sync(seen.snapshot)))}"
    while not request.app.state.closing.is_set() and not await request.is_disconnected():
        await anyio.sleep(PAUSE_SECONDS)
        if await anyio.to_thread.run_sync(token_of, request) is None:
            return
        told = await anyio.to_thread.run_sync(seen.delta)
        if told:
            number, silent = number + 1, 0.0
            yield _message("delta", number, secrets.without(told))
            continue
        silent += PAUSE_SECONDS
        if silent >= BEAT_SECONDS:
            silent = 0.0
            yield ": still here\n\n"


def _message(kind: str, number: int, told: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps({'seq': number, **told}, default=str)}\n\n"
