"""Who may ask: a bearer token for programs, a cookie for the page, and no request that some other page has sent.

A page in the user's browser can reach loopback. So the name of the host must be one of ours (DNS rebinding), and a request that comes with
the cookie and changes something must come from our own page (CSRF).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.types import ASGIApp

from windrow.server.api.problems import problem
from windrow.server.registry import Registry, Token
from windrow.server.tokens import SCOPES, find_token, may

COOKIE = "windrow-token"
MOST_BODY = 2_000_000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}


class Guard(BaseHTTPMiddleware):
    """Before anything else looks at a request: host, origin and size."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        super().__init__(app)
        self._hosts = hosts

    async def dispatch(self, request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        refusal = self._refusal(request)
        answer = refusal if refusal is not None else await call_next(request)
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        if request.url.path.startswith("/api/"):
            answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    def _refusal(self, request: Request) -> JSONResponse | None:
        if _host(request.headers.get("host", "")) not in self._hosts:
            return problem(421, "WR927", "this server does not go by that name", "windrow serve --allow-host NAME")
        origin = request.headers.get("origin")
        if request.method not in _SAFE and origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return problem(403, "WR927", "the request comes from another page")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY:
            return problem(413, "WR926", f"a request has {MOST_BODY:,} bytes at most")
        if request.method not in _SAFE and "transfer-encoding" in request.headers:
            return problem(411, "WR926", "a request says how long it is")
        return None


def _host(header: str) -> str:
    """
    >>> _host("localhost:8484"), _host("[::1]:8484"), _host("a.example")
    ('localhost', '[::1]', 'a.example')
    """
    return header.rpartition(":")[0].lower() if ":" in header and not header.endswith("]") else header.lower()


def token_of(request: Request) -> Token | None:
    registry: Registry = request.app.state.service.registry
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    return find_token(registry, token) if token else None


class NotAllowedError(Exception):
    def __init__(self, answer: JSONResponse) -> None:
        self.answer = answer


def needs(scope: str) -> Callable[[Request], Token]:
    """What a path asks of the token."""

    def check(request: Request) -> Token:
        token = token_of(request)
        if token is None:
            told = problem(401, "WR928", "a token is needed: there is none, or it is unknown or has expired")
            told.headers["WWW-Authenticate"] = "Bearer"
            raise NotAllowedError(told)
        if not may(token, scope):
            has = ", ".join(token.scopes)
            raise NotAllowedError(problem(403, "WR929", f'the token "{token.name}" may {has}, and this needs {scope}: {SCOPES[scope]}'))
        return token

    return check
