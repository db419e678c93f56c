"""The server as one ASGI application: API, page, health."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from windrow.server.alert_settings import AlertSettings
from windrow.server.alerting import Alerting
from windrow.server.api.alerts import alerts
from windrow.server.api.bundles import bundles
from windrow.server.api.changes import changes
from windrow.server.api.health import health
from windrow.server.api.live import live_stream
from windrow.server.api.masking import masked_json
from windrow.server.api.problems import add_problems
from windrow.server.api.routes import api
from windrow.server.api.security import COOKIE, Guard, Known, NotAllowedError, Rate, scopes_of
from windrow.server.api.texts import texts
from windrow.server.api.together import together
from windrow.server.api.views import views
from windrow.server.changing import Changing
from windrow.server.notify import Notifier
from windrow.server.service import Service

PAGE = Path(__file__).parent / "page"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def make_app(
    service: Service,
    hosts: frozenset[str] = LOOPBACK,
    rate: Rate | None = None,
    told: AlertSettings | None = None,
    settings: Mapping[str, str] | None = None,
) -> FastAPI:
    """``hosts`` are the names by which the server may be called, ``told`` who is told of alerts, ``settings`` those of every job."""
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
    app.state.changing = Changing(service, app.state.closing)
    chosen = told or AlertSettings()
    app.state.alerting = Alerting(service, settings, chosen.rules)
    app.state.notifier = Notifier(chosen, app.state.alerting.book, service.registry)
    app.state.alerting.tell = app.state.notifier.wake
    app.state.known = Known()
    app.add_middleware(Guard, hosts=hosts, known=app.state.known, rate=rate)
    add_problems(app)
    shown = masked_json(service.secrets)
    for router in (api, texts, together, views, live_stream, changes, alerts, bundles, health):
        for route in router.routes:
            if isinstance(route, APIRoute) and (scopes := scopes_of(route)):
                route.openapi_extra = {"security": [{"bearer": list(scopes)}, {"cookie": list(scopes)}]}
        # Of a text that somebody only looks at nothing is masked: it has no value of the environment, and would tell what one is.
        app.include_router(router, default_response_class=JSONResponse if router is texts else shown)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]

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


def _described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1, with how one signs in: each operation names the scope that it needs."""
    if app.openapi_schema is None:
        told = get_openapi(title=app.title, version=app.version, openapi_version="3.1.0", description=app.description, routes=app.routes)
        schemes = {
            "bearer": {"type": "http", "scheme": "bearer", "description": "a token; each operation names the scopes that it needs"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "what POST /session sets for the page"},
        }
        for operation in (one for methods in told["paths"].values() for one in methods.values() if isinstance(one, dict)):
            _describe_problems(operation)
        told.setdefault("components", {})["securitySchemes"] = schemes
        app.openapi_schema = told
    return app.openapi_schema


def _describe_problems(operation: dict[str, Any]) -> None:
    """Errors are of a type of their own, whatever the answers are."""
    for status, answer in operation.get("responses", {}).items():
        if status >= "400" and "content" in answer:
            answer["content"] = {"application/problem+json": next(iter(answer["content"].values()))}
