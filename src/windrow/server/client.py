"""A Python client of the server's API, with nothing but the standard library.

from windrow.server.client import Client
client = Client("http://localhost:8484", token)
client.deploy("orders", open("orders.sql").read())
print(client.job("orders")["observed"])
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from windrow.errors import JobError, UsageError
from windrow.server.tokens import ADMIN_FILE
from windrow.settings import user_folder

DEFAULT_URL = "http://127.0.0.1:8484"
_TIMEOUT = 30.0
_PAGE, _GLANCE = 500, 0.3


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

    # Jobs. A deployment is named by its pipeline, and @environment where it has one.

    def jobs(self) -> list[dict[str, Any]]:
        """Every one, however many pages that takes."""
        found: list[dict[str, Any]] = []
        while True:
            page = self._ask("GET", f"/pipelines?{urlencode({'limit': _PAGE, 'cursor': found[-1]['name'] if found else ''})}")
            found += page
            if len(page) < _PAGE:
                return found

    def job(self, name: str) -> dict[str, Any]:
        return self._one("GET", f"/deployments/{_in_path(name)}")

    def deploy(
        self,
        name: str,
        sql: str,
        message: str = "",
        *,
        start: bool = True,
        env: str = "",
        project: str = "",
        files: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The job, after the operation that a change of its state may take. ``files`` lie beside ``windrow.yaml``, by their paths."""
        more = {"message": message, "start": start, "env": env, "project": project, "files": dict(files or {})}
        told = self._one("POST", "/pipelines", {"name": name, "sql": sql, **more})
        if told["operation"] is not None:
            self.wait(told["operation"])
        return self.job(told["job"]["name"])

    def start(self, name: str) -> None:
        self._desire(name, "running")

    def stop(self, name: str) -> None:
        self._desire(name, "stopped")

    def pause(self, name: str) -> None:
        """Stopped after its batch, with Spark kept ready; ``start`` goes on."""
        self._desire(name, "paused")

    def restart(self, name: str) -> None:
        self._ask("POST", f"/deployments/{_in_path(name)}/restart")

    def remove(self, name: str) -> None:
        """With its state."""
        self._ask("DELETE", f"/pipelines/{_in_path(name)}")

    def _desire(self, name: str, desired: str) -> None:
        self._ask("PATCH", f"/deployments/{_in_path(name)}", {"desired": desired})

    def versions(self, name: str) -> list[dict[str, Any]]:
        return self._many(f"/pipelines/{_in_path(name)}/versions")

    def log(self, name: str, lines: int = 200) -> list[str]:
        found: list[str] = self._ask("GET", f"/deployments/{_in_path(name)}/logs?lines={lines}")["lines"]
        return found

    def events(self, pipeline: str | None = None, most: int = 100, after: int | None = None) -> list[dict[str, Any]]:
        """The newest, or those after one."""
        query: dict[str, Any] = {"most": most, **({"pipeline": pipeline} if pipeline else {})}
        return self._many(f"/events?{urlencode(query if after is None else {**query, 'after': after})}")

    # Changes

    def plan(
        self,
        name: str,
        sql: str | None = None,
        *,
        version: int | None = None,
        env: str = "",
        project: str = "",
        strategy: str = "cut",
        message: str = "",
        files: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """For a text, or for a version that there is."""
        more = {"env": env, "project": project, "files": dict(files or {})}
        body = {"sql": sql, "version": version, "strategy": strategy, "message": message, **more}
        return self._one("POST", f"/pipelines/{_in_path(name)}/plans", body)

    def approve(self, plan: str) -> dict[str, Any]:
        return self._one("POST", f"/plans/{_in_path(plan)}/approve")

    def apply(self, plan: str, *, key: str = "") -> dict[str, Any]:
        """The operation, when it has ended. ``key`` makes asking twice one wish."""
        return self.wait(self._one("POST", f"/plans/{_in_path(plan)}/apply", None, {"Idempotency-Key": key} if key else {}))

    def rollback(self, name: str, to: int | None = None, message: str = "") -> dict[str, Any]:
        return self.wait(self._one("POST", f"/deployments/{_in_path(name)}/rollback", {"to": to, "message": message}))

    def plan_rollback(self, name: str, to: int | None = None) -> dict[str, Any]:
        """A plan to go back, for an environment where somebody else approves it."""
        return self._one("POST", f"/deployments/{_in_path(name)}/rollback/plan", {"to": to})

    def plans(self, pipeline: str) -> list[dict[str, Any]]:
        return self._many(f"/pipelines/{_in_path(pipeline)}/plans")

    def restore(self, name: str, batch: int, job: str | None = None) -> dict[str, Any]:
        return self.wait(self._one("POST", f"/deployments/{_in_path(name)}/restore", {"batch": batch, "job": job}))

    def plan_restore(self, name: str, batch: int, job: str | None = None) -> dict[str, Any]:
        """A plan to go back to a batch, for an environment where somebody else approves it."""
        return self._one("POST", f"/deployments/{_in_path(name)}/restore/plan", {"batch": batch, "job": job})

    def promote(self, name: str, to: str) -> dict[str, Any]:
        """A plan to run its version in another environment."""
        return self._one("POST", f"/deployments/{_in_path(name)}/promote", {"to": to})

    def history(self, name: str) -> list[dict[str, Any]]:
        return self._many(f"/deployments/{_in_path(name)}/history")

    def diff(self, pipeline: str, env1: str, env2: str) -> dict[str, Any]:
        return self._one("GET", f"/pipelines/{_in_path(pipeline)}/diff?{urlencode({'env1': env1, 'env2': env2})}")

    def wait(self, operation: Mapping[str, Any], most_seconds: float = 600.0) -> dict[str, Any]:
        """Until it has ended. One that failed is an error, with its code."""
        deadline, told = time.monotonic() + most_seconds, dict(operation)
        while told["state"] in ("pending", "running"):
            if time.monotonic() > deadline:
                raise JobError("WR941", f"operation {told['id']} goes on: {told['step']}", f"GET {self.url}/api/v1/operations/{told['id']}")
            time.sleep(_GLANCE)
            told = self._one("GET", f"/operations/{told['id']}")
        if told["state"] == "failed":
            error = told["content"].get("error", {})
            raise JobError(str(error.get("code", "WR941")), str(error.get("title", told["step"])), error.get("hint"))
        return told

    def bundle(self, name: str) -> bytes:
        """A zip that helps somebody else to understand the job."""
        status, told = self._raw("GET", f"/deployments/{_in_path(name)}/bundle.zip", None, None)
        if status >= 400:
            raise _refusal(status, json.loads(told) if told else {})
        return told

    # Alerts

    def alerts(self, *, every: bool = False, job: str | None = None) -> list[dict[str, Any]]:
        """Those that are; with ``every`` those that are over, too."""
        found = self._many(f"/alerts?{urlencode({'job': job} if job else {})}")
        return [one for one in found if every or one["state"] != "resolved"]

    def acknowledge(self, alert: str) -> dict[str, Any]:
        """Somebody takes it on."""
        return self._one("POST", f"/alerts/{_in_path(alert)}/ack")

    def silences(self) -> list[dict[str, Any]]:
        return self._many("/silences")

    def silence(self, reason: str, minutes: int, *, rule: str = "", job: str = "") -> dict[str, Any]:
        """Of every rule and every job where they are left out."""
        return self._one("POST", "/silences", {"rule": rule, "job": job, "minutes": minutes, "reason": reason})

    def end_silence(self, silence: str) -> None:
        self._ask("DELETE", f"/silences/{_in_path(silence)}")

    def alert_rules(self, job: str | None = None) -> list[dict[str, Any]]:
        return self._many(f"/alert-rules?{urlencode({'job': job} if job else {})}")

    def change_rule(
        self, name: str, *, is_on: bool = True, hold_seconds: int | None = None, level: str | None = None
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask(
            "PUT", "/alert-rules", {"name": name, "is_on": is_on, "hold_seconds": hold_seconds, "level": level}
        )
        return found

    def channels(self) -> list[dict[str, Any]]:
        return self._many("/channels")

    def try_channel(self, name: str) -> None:
        """Sends it an alert that says it is none."""
        self._ask("POST", f"/channels/{_in_path(name)}/test")

    def query(self, sql: str) -> dict[str, Any]:
        """Rows of the system tables: ``SELECT name, observed FROM system.jobs``."""
        return self._one("POST", "/query", {"query": sql})

    # Views of one job, and of several

    def overview(self) -> dict[str, Any]:
        return self._one("GET", "/overview")

    def datasets(self) -> list[dict[str, Any]]:
        """Topics, tables and folders, with who writes and who reads them."""
        return self._many("/datasets")

    def groups(self) -> list[dict[str, Any]]:
        return self._many("/groups")

    def group(self, name: str, what: str = "topology") -> dict[str, Any]:
        """``what`` is topology or shared."""
        return self._one("GET", f"/groups/{_in_path(name)}/{what}")

    def group_drift(self, name: str, env1: str, env2: str) -> dict[str, Any]:
        return self._one("GET", f"/groups/{_in_path(name)}/drift?{urlencode({'env1': env1, 'env2': env2})}")

    def pipeline(self, name: str) -> list[dict[str, Any]]:
        """The job in all of its environments."""
        return self._many(f"/pipelines/{_in_path(name)}")

    def version_diff(self, name: str, n: int, m: int) -> dict[str, Any]:
        return self._one("GET", f"/pipelines/{_in_path(name)}/versions/{n}/diff/{m}")

    def why_row(self, name: str, source: str, partition: int, offset: int) -> list[dict[str, Any]]:
        query = {"source": source, "partition": partition, "offset": offset}
        return self._many(f"/deployments/{_in_path(name)}/rows/why?{urlencode(query)}")

    def why_window(self, name: str, statement: str, keys: Sequence[str] = ()) -> dict[str, Any]:
        query = [("statement", statement), *(("key", key) for key in keys)]
        return self._one("GET", f"/deployments/{_in_path(name)}/windows/why?{urlencode(query)}")

    def analyze(self, name: str, *, batches: int | None = None, seconds: float | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("POST", f"/deployments/{_in_path(name)}/analyze", {"batches": batches, "seconds": seconds})
        return found

    def view(self, name: str, what: str) -> Any:
        """``what`` is topology, batches, windows, analysis, state, state/versions, lineage, runs, dead-letters or dead-letters/summary."""
        return self._ask("GET", f"/deployments/{_in_path(name)}/{what}")

    def replay(self, name: str, *, dry_run: bool = False, **wanted: Any) -> dict[str, Any]:
        """Feed dead letters back: ``ids``, ``code``, ``by``, ``since``, ``until``, ``repair``."""
        return self._one("POST", f"/deployments/{_in_path(name)}/dead-letters/replay", {"dry_run": dry_run, **wanted})

    def lineage(self, column: str | None = None, direction: str = "up") -> dict[str, Any]:
        query = urlencode({"column": column, "direction": direction}) if column else ""
        return self._one("GET", f"/lineage?{query}")

    def check(self, sql: str, *, env: str = "", project: str = "", files: Mapping[str, str] | None = None) -> dict[str, Any]:
        return self._one("POST", "/check", {"sql": sql, "env": env, "project": project, "files": dict(files or {})})

    # Environments, flags, tokens

    def environments(self) -> list[dict[str, Any]]:
        return self._many("/environments")

    def protect(self, env: str, *, is_protected: bool = True) -> None:
        self._ask("PUT", "/environments", {"name": env, "is_protected": is_protected})

    def flags(self, name: str | None = None) -> list[dict[str, Any]]:
        """Every value of every flag, newest first."""
        return self._many(f"/flags?{urlencode({'name': name})}" if name else "/flags")

    def set_flag(self, name: str, value: str | None, env: str = "", *, is_secret: bool = False) -> dict[str, Any]:
        return self._one("PUT", "/flags", {"name": name, "value": value, "env": env, "is_secret": is_secret})

    def flags_waiting(self) -> list[dict[str, Any]]:
        return self._many("/flags/waiting")

    def approve_flag(self, wish: str) -> dict[str, Any]:
        return self._one("POST", f"/flags/waiting/{_in_path(wish)}/approve")

    def tokens(self) -> list[dict[str, Any]]:
        return self._many("/tokens")

    def make_token(self, name: str, scopes: Sequence[str], days: int | None = None) -> dict[str, Any]:
        """Its id, and the token, which is shown this once."""
        return self._one("POST", "/tokens", {"name": name, "scopes": list(scopes), "days": days})

    def remove_token(self, id_: str) -> None:
        self._ask("DELETE", f"/tokens/{_in_path(id_)}")

    def audit(self, most: int = 200) -> list[dict[str, Any]]:
        return self._many(f"/audit?limit={most}")

    # How it is asked

    def _one(self, method: str, path: str, body: Mapping[str, Any] | None = None, more: Mapping[str, str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = self._ask(method, path, body, more)
        return found

    def _many(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", path)
        return found

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, more: Mapping[str, str] | None = None) -> Any:
        status, text = self._raw(method, path, body, more)
        told = json.loads(text) if text else None
        if status >= 400:
            raise _refusal(status, told if isinstance(told, dict) else {})
        return told

    def _raw(self, method: str, path: str, body: Mapping[str, Any] | None, more: Mapping[str, str] | None) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._netloc, timeout=_TIMEOUT)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **(more or {})}
        try:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError as error:
            raise UsageError(
                "WR933", f"the server {self.url} does not answer: {error}", "windrow serve starts one on this machine"
            ) from error
        finally:
            connection.close()


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


def _in_path(name: str) -> str:
    return quote(name, safe="")
