"""Errors as ``application/problem+json`` (RFC 9457), with our code, place and hint."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from windrow.errors import Diagnostic, SqlError, WindrowError
from windrow.model.place import SourceText
from windrow.server.database import LOST

_NOT_FOUND = frozenset({"WR922", "WR890"})
_CONFLICT = frozenset({"WR924", "WR621", "WR805", "WR937", "WR938", "WR939", "WR940", "WR673"})
LOG = logging.getLogger(__name__)


def problem(status: int, code: str, title: str, hint: str | None = None, **more: Any) -> JSONResponse:
    body = {"title": title, "status": status, **({"code": code} if code else {}), **({"hint": hint} if hint else {}), **more}
    return JSONResponse(body, status, media_type="application/problem+json")


def diagnostic_json(found: Diagnostic, source: SourceText) -> dict[str, Any]:
    told: dict[str, Any] = {"code": found.code, "message": found.message, "hint": found.hint, "severity": found.severity.value}
    if found.span is not None:
        line, column = source.position(found.span.start)
        told |= {"line": line, "column": column, "start": found.span.start, "end": found.span.end}
    return told


def add_problems(app: FastAPI) -> None:
    @app.exception_handler(SqlError)
    def wrong_sql(_: Request, error: SqlError) -> JSONResponse:
        every = [diagnostic_json(one, error.source) for one in error.diagnostics]
        return problem(422, error.code, error.message, error.hint, diagnostics=every)

    @app.exception_handler(WindrowError)
    def refused(_: Request, error: WindrowError) -> JSONResponse:
        status = 404 if error.code in _NOT_FOUND else 409 if error.code in _CONFLICT else 422
        return problem(status, error.code, error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        places = [{"where": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
        first = places[0] if places else {"where": "request", "message": "cannot be read"}
        return problem(422, "WR926", f"{first['where']}: {first['message']}", errors=places)

    def away(_: Request, error: Exception) -> JSONResponse:
        LOG.warning("the registry does not answer", exc_info=error)
        told = problem(503, "WR920", "the registry of the server does not answer", "jobs go on; try again in a few seconds")
        told.headers["Retry-After"] = "5"
        return told

    for kind in LOST:
        app.add_exception_handler(kind, away)

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> JSONResponse:
        LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "WR999", "this is a fault of Windrow", "the log of the server says more")

    @app.exception_handler(HTTPException)
    def http(_: Request, error: HTTPException) -> JSONResponse:
        told = problem(error.status_code, "WR926" if error.status_code in (400, 404, 405) else "", str(error.detail))
        told.headers.update(error.headers or {})
        return told
