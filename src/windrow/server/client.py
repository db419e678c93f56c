"""A Python client of the server's API, with nothing but the standard library.

from windrow.server.client import Client
client = Client("http://localhost:8484", token)
client.deploy("orders", open("orders.sql").read())
print(client.job("orders")["observed"])
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from windrow.errors import JobError, UsageError
from windrow.server.tokens import ADMIN_FILE
from windrow.settings import user_folder

DEFAULT_URL = "http://127.0.0.1:8484"
_TIMEOUT = 30.0


def default_data() -> Path:
    """Where ``windrow serve`` keeps its things unless it is told otherwise."""
    return user_folder() / "server"


def own_token() -> str | None:
    """The first token of a server that this user runs on this machine."""
    try:
        return (default_data() / ADMIN_FILE).read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


class Client:
    """``token`` may be left out for a server of one's own on this machine."""

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("WR933", f'"{url}" is not the address of a server', f"--server {DEFAULT_URL}")
        self.url = url.rstrip("/")
        self._secure, self._netloc = parts.scheme == "https", parts.netloc
        self._token = token or own_token()
        if self._token is None:
            raise UsageError(
                "WR928", f"there is no token for {url}", "--token-file FILE, or WINDROW_TOKEN; windrow serve prints where the first one is"
            )

    # Jobs

    def jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", "/pipelines")
        return found

    def job(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"/deployments/{quote(name, safe='')}")
        return found

    def deploy(self, name: str, sql: str, message: str = "", *, start: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("POST", "/pipelines", {"name": name, "sql": sql, "message": message, "start": start})
        return found

    def start(self, name: str) -> None:
        self._ask("PATCH", f"/deployments/{quote(name, safe='')}", {"desired": "running"})

    def stop(self, name: str) -> None:
        self._ask("PATCH", f"/deployments/{quote(name, safe='')}", {"desired": "stopped"})

    def restart(self, name: str) -> None:
        self._ask("POST", f"/deployments/{quote(name, safe='')}/restart")

    def versions(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", f"/pipelines/{quote(name, safe='')}/versions")
        return found

    def log(self, name: str, lines: int = 200) -> list[str]:
        found: list[str] = self._ask("GET", f"/deployments/{quote(name, safe='')}/logs?lines={lines}")["lines"]
        return found

    def events(self, pipeline: str | None = None, most: int = 100) -> list[dict[str, Any]]:
        query = {"most": most, **({"pipeline": pipeline} if pipeline else {})}
        found: list[dict[str, Any]] = self._ask("GET", f"/events?{urlencode(query)}")
        return found

    # How it is asked

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._netloc, timeout=_TIMEOUT)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        except OSError as error:
            raise UsageError(
                "WR933", f"the server {self.url} does not answer: {error}", "windrow serve starts one on this machine"
            ) from error
        finally:
            connection.close()
        told = json.loads(text) if text else None
        if answer.status >= 400:
            raise _refusal(answer.status, told if isinstance(told, dict) else {})
        return told


def _refusal(status: int, told: Mapping[str, Any]) -> Exception:
    lines = list(_diagnostics(told))
    if lines:
        return UsageError(str(told.get("code", "WR934")), "the SQL is wrong:\n" + "\n".join(lines))
    kind = JobError if status >= 500 else UsageError
    return kind(str(told.get("code") or "WR934"), str(told.get("title", f"the server answered {status}")), told.get("hint"))


def _diagnostics(told: Mapping[str, Any]) -> Iterator[str]:
    for one in told.get("diagnostics", ()):
        place = f"line {one['line']}, column {one['column']}: " if one.get("line") else ""
        yield f"  [{one['code']}] {place}{one['message']}" + (f"\n    hint: {one['hint']}" if one.get("hint") else "")
