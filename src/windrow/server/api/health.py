"""Health and metrics beyond the API: the paths that a job has by itself, over all jobs of the server."""

from __future__ import annotations

import time
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse

from windrow.errors import UsageError
from windrow.server.api.routes import REFUSALS, Asked, Reader
from windrow.server.api.view_shapes import Told, typed
from windrow.server.health import metrics, of_jobs

health = APIRouter(responses=REFUSALS, tags=["health"])
_LOOK, _MOST_WAIT = 0.5, 60.0
Only = Annotated[str | None, Query(max_length=130, description="one job alone")]


@health.get("/metrics", summary="What the server knows of jobs, for Prometheus", response_class=PlainTextResponse)
def server_metrics(request: Request, service: Asked, _: Reader) -> PlainTextResponse:
    return PlainTextResponse(metrics(service, request.app.state.alerting.book), media_type="text/plain; version=0.0.4; charset=utf-8")


@health.get("/health/tables", summary="The tables that running jobs load, with their progress", **typed(list[Told]))
def tables(service: Asked, _: Reader, job: Only = None) -> list[dict[str, Any]]:
    return of_jobs(service, "/health/tables", "tables", job)


@health.get("/health/progress", summary="How far every running job has come", **typed(list[Told]))
def progress(service: Asked, _: Reader, job: Only = None) -> list[dict[str, Any]]:
    return of_jobs(service, "/health/progress", "jobs", job)


@health.get("/health/connections", summary="The systems outside that running jobs talk to", **typed(list[Told]))
def connections(service: Asked, _: Reader, job: Only = None) -> list[dict[str, Any]]:
    return of_jobs(service, "/health/connections", "connections", job)


@health.get("/health/metrics", summary="The metrics of running jobs, as JSON", **typed(list[Told]))
def metrics_json(service: Asked, _: Reader, job: Only = None) -> list[dict[str, Any]]:
    return of_jobs(service, "/health/metrics", "metrics", job)


@health.get("/health/table/{name}", summary="One table, in every job that loads it", **typed(list[Told]))
def table(name: str, service: Asked, _: Reader, job: Only = None) -> list[dict[str, Any]]:
    found = [one for one in of_jobs(service, "/health/tables", "tables", job) if str(one.get("table", "")).lower() == name.lower()]
    if not found:
        raise UsageError("WR922", f'no running job loads a table "{name}"', "GET /health/tables lists them")
    return found


@health.post("/health/table/{name}/wait", summary="The same, once it is loaded, or when the time is over", **typed(list[Told]))
async def wait(
    name: str, service: Asked, _: Reader, job: Only = None, timeout: Annotated[float, Query(gt=0, le=_MOST_WAIT)] = 30.0
) -> list[dict[str, Any]]:
    deadline = time.monotonic() + timeout
    while True:
        found = await anyio.to_thread.run_sync(table, name, service, _, job)
        if all(one.get("state") != "loading" for one in found) or time.monotonic() >= deadline:
            return found
        await anyio.sleep(_LOOK)
