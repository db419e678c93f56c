"""The server as one ASGI application: API, page, health."""

from __future__ import annotations

import threading
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from windrow.server.api.live import live_stream
from windrow.server.api.problems import add_problems
from windrow.server.api.routes import api
from windrow.server.api.security import Guard, NotAllowedError
from windrow.server.api.views import views
from windrow.server.service import Service

PAGE = Path(__file__).parent / "page"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def make_app(service: Service, hosts: frozenset[str] = LOOPBACK) -> FastAPI:
    """``hosts`` are the names by which the server may be called."""
    app = FastAPI(
        title="Windrow",
        version=version("windrow"),
        description="Deploy, watch, change and stop streaming SQL jobs.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.state.closing = threading.Event()
    app.add_middleware(Guard, hosts=hosts)
    add_problems(app)
    app.include_router(api)
    app.include_router(views)
    app.include_router(live_stream)

    @app.exception_handler(NotAllowedError)
    def not_allowed(_: Request, error: NotAllowedError) -> JSONResponse:
        return error.answer

    @app.get("/health/live", include_in_schema=False)
    @app.get("/health/startup", include_in_schema=False)
    def live() -> dict[str, bool]:
        return {"ok": True}

    @app.get("/health/ready", include_in_schema=False)
    def ready() -> dict[str, bool]:
        service.registry.deployments()
        return {"ok": True}

    @app.get("/", include_in_schema=False)
    def index() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    return app
