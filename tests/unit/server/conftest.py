"""A server whose jobs are small programs: what it does with processes is tested without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from windrow.server.app import make_app
from windrow.server.job_folders import JobFolder, write_note
from windrow.server.processes import JobProcess, Processes
from windrow.server.reconciler import Reconciler
from windrow.server.registry import Registry
from windrow.server.restarts import RestartRule
from windrow.server.service import Service
from windrow.server.tokens import new_token
from windrow.storage.host import Host

SQL = """-- @owner: ada
CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');
SELECT k, COUNT(*) AS n FROM t GROUP BY k;
"""
WAITS = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print('ready', flush=True); signal.pause()"


class Programs(Processes):
    """Starts a program in the place of a job; ``program`` is Python."""

    def __init__(self) -> None:
        super().__init__()
        self.program = WAITS
        self.started: list[int] = []

    def start(self, folder: JobFolder, version: int, now: int) -> JobProcess:
        run = f"run-{len(self.started) + 1}-{folder.pipeline}"
        folder.log(run).parent.mkdir(parents=True, exist_ok=True)
        folder.exit.unlink(missing_ok=True)
        note = f"""
import atexit, json, os, sys
def end(code):
    open({str(folder.exit)!r}, "w").write(json.dumps(dict(pid=os.getpid(), code=code)))
try:
    exec({self.program!r})
    end(0)
except SystemExit as ended:
    end(ended.code or 0)
    raise
"""
        with open(folder.log(run), "wb") as log:
            child = subprocess.Popen([sys.executable, "-c", note], stdout=log, stderr=log, start_new_session=True)
        self._children[child.pid] = child
        self.started.append(child.pid)
        made = JobProcess(run, version, Host.of(child.pid), now)
        write_note(folder.process, {"run": run, "version": version, "started_at": now, "host": made.host.to_json()})
        return made

    def end_all(self) -> None:
        for child in self._children.values():
            child.kill()
            child.wait()


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
        return {"Authorization": f"Bearer {self.tokens[scope]}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = make_server(tmp_path, Programs())
    yield made
    made.programs.end_all()
    made.registry.close()


def make_server(root: Path, programs: Programs) -> Server:
    registry = Registry(root / "registry.db")
    reconciler = Reconciler(root, registry, programs, RestartRule(first=0.0, longest=0.0, budget=3))
    reconciler.find_jobs()
    service = Service(root, registry, reconciler)
    client = TestClient(make_app(service), base_url="http://localhost:8484")
    tokens = {scope: new_token(registry, scope, [scope])[1] for scope in ("read", "data", "operate", "deploy", "admin")}
    return Server(root, programs, registry, reconciler, service, client, tokens)
