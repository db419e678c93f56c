"""Who may ask: a bearer token for programs, a cookie for the page, and no request that some other page has sent.

A page in the user's browser can reach loopback. So the name of the host must be one of ours (DNS rebinding), and a request that comes with
the cookie and changes something must come from our own page (CSRF).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windrow.server.api.problems import problem
from windrow.server.registry import Registry, Token
from windrow.server.tokens import SCOPES, find_token, may

COOKIE = "windrow-token"
MOST_BODY = 2_000_000
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_MOST_CLIENTS = 10_000
# Dependency to the scopes that it asks for.
_SCOPES_OF: dict[Any, tuple[str, ...]] = {}


@dataclass(frozen=True)
class Rate:
    """``requests`` a second of one token at one address, and ``burst`` at once after a pause.

    Whoever brings no token that is known shares ``strangers`` a second with all others at that address.
    """

    requests: float = 100.0
    burst: float = 300.0
    strangers: float = 20.0


class Buckets:
    """How much each client may still ask. A bucket fills at ``rate`` a second up to ``size``."""

    def __init__(self, rate: float, size: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._size, self._clock = rate, size, clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, amount: float = 1.0) -> bool:
        """False where there is not so much left; nothing is taken then.

        >>> times = iter([0.0, 0.0, 0.0, 1.0])
        >>> buckets = Buckets(rate=1, size=2, clock=lambda: next(times))
        >>> [buckets.take("a") for _ in range(4)]
        [True, True, False, True]
        """
        now = self._clock()
        with self._lock:
            left, at = self._left.pop(client, (self._size, now))
            left = min(self._size, left + (now - at) * self._rate)
            is_enough = left >= amount
            self._left[client] = (left - amount if is_enough else left, now)
            if len(self._left) > _MOST_CLIENTS:
                self._left.popitem(last=False)
            return is_enough


class Known:
    """What requests brought that was good the last time, as hashes: only such requests have a rate of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._brought: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, brought: str) -> bool:
        with self._lock:
            return brought in self._brought

    def note(self, brought: str, *, is_good: bool) -> None:
        with self._lock:
            self._brought.pop(brought, None)
            if is_good:
                self._brought[brought] = None
            if len(self._brought) > _MOST_CLIENTS:
                self._brought.popitem(last=False)


class Guard:
    """Before anything else looks at a request: host, origin, size and rate."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], known: Known, rate: Rate | None = None) -> None:
        self._app = app
        self._hosts = hosts
        self._known = known
        chosen = rate or Rate()
        self._asked = Buckets(chosen.requests, chosen.burst)
        self._strangers = Buckets(chosen.strangers, 3 * chosen.strangers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        address = scope["client"][0] if scope.get("client") else ""
        brought = scope["brought"] = f"{address} {_hash_of(headers)}"

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                told = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    told.setdefault(name, value)
                if path.startswith("/api/"):
                    told.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(str(scope["method"]), headers) or (self._rate(address, brought) if _is_counted(path) else None)
        await (refusal or self._app)(scope, receive, answer)

    def _rate(self, address: str, brought: str) -> JSONResponse | None:
        """Guesses at tokens, however they differ, are all the same stranger's; they take nothing from those who have one."""
        if self._asked.take(brought) if brought in self._known else self._strangers.take(address):
            return None
        told = problem(429, "WR926", "these are too many requests at once", "wait a second, or follow /api/v1/events/stream")
        told.headers["Retry-After"] = "1"
        return told

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        if _host(headers.get("host", "")) not in self._hosts:
            return problem(421, "WR927", "this server does not go by that name", "windrow serve --allow-host NAME")
        origin = headers.get("origin")
        if method not in _SAFE and origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return problem(403, "WR927", "the request comes from another page")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or int(length) > MOST_BODY:
            return problem(413, "WR926", f"a request has {MOST_BODY:,} bytes at most")
        if "transfer-encoding" in headers:
            return problem(411, "WR926", "a request says how long it is")
        return None


def _is_counted(path: str) -> bool:
    """Health alone is for whoever asks, and told at no cost."""
    return path.startswith(("/api/", "/metrics", "/health/")) and path not in ("/health/live", "/health/ready", "/health/startup")


def _hash_of(headers: Headers) -> str:
    return hashlib.sha256((headers.get("authorization", "") + "\n" + headers.get("cookie", "")).encode()).hexdigest()


def _host(header: str) -> str:
    """
    >>> _host("localhost:8484"), _host("[::1]:8484"), _host("a.example")
    ('localhost', '[::1]', 'a.example')
    """
    return header.rpartition(":")[0].lower() if ":" in header and not header.endswith("]") else header.lower()


def token_of(request: Request) -> Token | None:
    """None where there is none, or it is not good any more."""
    registry: Registry = request.app.state.service.registry
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    found = find_token(registry, token) if token else None
    known: Known = request.app.state.known
    known.note(str(request.scope.get("brought", "")), is_good=found is not None)
    return found


class NotAllowedError(Exception):
    def __init__(self, answer: JSONResponse) -> None:
        self.answer = answer


def needs(*scopes: str) -> Callable[[Request], Token]:
    """What a path asks of the token: all of these."""

    def check(request: Request) -> Token:
        token = token_of(request)
        if token is None:
            told = problem(401, "WR928", "a token is needed: there is none, or it is unknown or has expired")
            told.headers["WWW-Authenticate"] = "Bearer"
            raise NotAllowedError(told)
        for scope in scopes:
            if not may(token, scope):
                raise lacking(token, scope)
        return token

    _SCOPES_OF[check] = scopes
    return check


def lacking(token: Token, scope: str) -> NotAllowedError:
    has = ", ".join(token.scopes)
    return NotAllowedError(problem(403, "WR929", f'the token "{token.name}" may {has}, and this needs {scope}: {SCOPES[scope]}'))


def scopes_of(route: APIRoute) -> tuple[str, ...]:
    """What a path asks of the token, for its description; nothing where it asks for none."""
    return next((_SCOPES_OF[one.call] for one in route.dependant.dependencies if one.call in _SCOPES_OF), ())
