"""A server whose jobs are small programs: what it does with processes is tested without Spark."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from windrow.server.admission import Limits
from windrow.server.alerting import Alerting
from windrow.server.api.security import Rate
from windrow.server.app import make_app
from windrow.server.books import Who
from windrow.server.changing import Changing
from windrow.server.finding import find_jobs
from windrow.server.processes import JobProcess, Processes, Start
from windrow.server.reconciler import Reconciler
from windrow.server.registry import Registry
from windrow.server.restarts import RestartRule
from windrow.server.service import Service, facts_of
from windrow.server.texts import Text
from windrow.server.tokens import new_token
from windrow.settings import environment

SQL = """-- @owner: ada
CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');
SELECT k, COUNT(*) AS n FROM t GROUP BY k;
"""
ADA, BOB = Who("1", "ada"), Who("2", "bob")
# What the server's own environment has beside that of the tests.
SERVER_VARIABLES = {"SECRET_X": "hush-hush-1", "PG_PIN": "pin-of-pg", "REGION": "eu-north"}
# Programs in the place of a job. They are started as jobs are, with the same notes.
WAITS = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print('ready', flush=True)\nwhile True: signal.pause()"


class Programs(Processes):
    """Starts a program in the place of a job; ``program`` is Python."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.program = WAITS
        self.started: list[int] = []

    def start(self, asked: Start) -> JobProcess:
        made = super().start(asked)
        self.started.append(made.host.pid)
        return made

    def _words(self, asked: Start) -> list[str]:
        path = self._folder / f"{asked.folder.pipeline}_program.py"
        path.write_text(self.program)
        return [path.stem]

    def _environment(self, asked: Start) -> dict[str, str]:
        before = super()._environment(asked)
        return {**before, "PYTHONPATH": f"{self._folder}:{before.get('PYTHONPATH', '')}"}

    def end_all(self) -> None:
        for pid in self.started:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


@dataclass
class Server:
    root: Path
    programs: Programs
    registry: Registry
    reconciler: Reconciler
    service: Service
    client: TestClient
    tokens: dict[str, str]

    def ask(self, method: str, path: str, scope: str = "admin", **more: object) -> object:
        answer = self.client.request(method, f"/api/v1{path}", headers=self.auth(scope), **more)  # type: ignore[arg-type]
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def auth(self, scope: str = "admin") -> dict[str, str]:
        """Of a token with these scopes, in words."""
        if scope not in self.tokens:
            self.tokens[scope] = new_token(self.registry, scope, scope.split())[1]
        return {"Authorization": f"Bearer {self.tokens[scope]}"}

    def deploy(self, name: str = "orders", sql: str = SQL, *, starts: bool = True) -> None:
        self.changing.deploy(Text(name, sql), ADA, starts=starts)

    @property
    def changing(self) -> Changing:
        found: Changing = self.client.app.state.changing  # type: ignore[attr-defined]
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = make_server(tmp_path, Programs(tmp_path))
    yield made
    made.changing.close()
    made.programs.end_all()
    made.registry.close()


@pytest.fixture
def alerting(server: Server) -> Alerting:
    found: Alerting = server.client.app.state.alerting  # type: ignore[attr-defined]
    return found


def make_server(root: Path, programs: Programs, limits: Limits | None = None, place: str | None = None) -> Server:
    """``place`` is the URL of a database that keeps the registry; a file does if there is none."""
    registry = Registry(place or root / "registry.db")
    jobs = root / "jobs"
    rule = RestartRule(first=0.0, longest=0.0, budget=3)
    reconciler = Reconciler(jobs, registry, programs, rule, limits, facts_of(registry))
    find_jobs(jobs, registry)
    service = Service(jobs, registry, reconciler, {**environment(), **SERVER_VARIABLES})
    client = TestClient(make_app(service, rate=Rate(100_000, 100_000, 100_000)), base_url="http://localhost:8484")
    tokens = {scope: new_token(registry, scope, [scope])[1] for scope in ("read", "data", "operate", "deploy", "admin")}
    return Server(jobs, programs, registry, reconciler, service, client, tokens)
