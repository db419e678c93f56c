"""Jobs that should run and do not run yet, or not now: limits, sources that come up first, and those that are paused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.conftest import ADA, SQL, Programs, Server, make_server
from tests.unit.server.test_reconciler import observed, runs, until
from windrow.errors import UsageError
from windrow.server.admission import PATIENCE_MILLIS, Limits, Needs, obstacle
from windrow.server.job_folders import JobFolder
from windrow.server.registry import RUNNING, Deployment
from windrow.server.texts import Text

# A job that can be paused, as the real one is: over the socket in its folder.
ANSWERS = """
import http.server, json, os, signal, socketserver, sys
told = {"paused": False, "jobs": [{"job": "orders", "state": "running", "batch_id": 1}]}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps(told).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
    def do_POST(self):
        told["paused"] = self.path == "/pause"; self.do_GET()
    def address_string(self): return ""
    def log_message(self, *_): print(self.command, self.path, flush=True)
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
Server(SOCKET, Handler).serve_forever()
"""
FEEDS = """
CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');
SELECT k, v FROM t WITH ('connector' = 'files', 'path' = '{path}/rows', 'format' = 'json');
"""
READS = """
CREATE STREAM r (k STRING, v INT) WITH ('connector' = 'files', 'path' = '{path}/{name}', 'format' = 'json');
CREATE STREAM o AS SELECT k, v FROM r WITH ('connector' = 'files', 'path' = '{path}/{out}', 'format' = 'json');
"""


def server_with(root: Path, limits: Limits) -> Iterator[Server]:
    made = make_server(root, Programs(root), limits)
    yield made
    made.changing.close()
    made.programs.end_all()
    made.registry.close()


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Server]:
    """Room for one job."""
    yield from server_with(tmp_path, Limits(jobs=1))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Server]:
    """Room for the memory of one job, and a little more."""
    yield from server_with(tmp_path, Limits(memory=2 << 30))


def why(server: Server, name: str) -> str:
    return server.service.job(name).deployment.why


@pytest.mark.parametrize(("limited", "said"), [("narrow", "--max-jobs is 1"), ("small", "of --max-memory 624 MiB are left")])
def test_a_job_for_which_there_is_no_room_waits_for_it(limited: str, said: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(limited)
    server.deploy("first")
    until(server, runs(server, "first"))
    server.deploy("second")
    until(server, lambda: observed(server, "second") == "queued")
    assert said in why(server, "second")
    assert len(server.programs.started) == 1
    server.service.stop("first", "ada")
    until(server, runs(server, "second"))
    assert why(server, "second") == ""
    # Who comes back finds the place taken, and is stopped while it waits without having run.
    server.service.start("first", "ada")
    until(server, lambda: observed(server, "first") == "queued")
    server.service.stop("first", "ada")
    until(server, lambda: observed(server, "first") == "stopped")
    assert len(server.programs.started) == 2


def test_a_job_that_needs_more_than_there_is_says_so(tmp_path: Path) -> None:
    for server in server_with(tmp_path, Limits(memory=1 << 30)):
        server.deploy()
        until(server, lambda server=server: observed(server) == "queued")  # type: ignore[misc]  # bound now
        assert "it needs 1,424 MiB, and of --max-memory 1,024 MiB are left" in why(server, "orders")
        assert server.programs.started == []


def test_who_reads_the_rows_of_another_starts_after_it(server: Server, tmp_path: Path) -> None:
    feeds, reads = FEEDS.format(path=tmp_path), READS.format(path=tmp_path, name="rows", out="out")
    server.programs.program = "import time\ntime.sleep(600)"
    server.changing.deploy(Text("feeds", feeds), ADA, starts=False)
    server.changing.deploy(Text("reads", reads), ADA, starts=False)
    # One that nobody wants to run is not waited for.
    server.service.start("reads", "ada")
    until(server, lambda: server.reconciler.process("reads") is not None)
    server.service.stop("reads", "ada")
    until(server, lambda: observed(server, "reads") == "stopped")
    server.service.start("reads", "ada")
    server.service.start("feeds", "ada")
    until(server, lambda: observed(server, "reads") == "queued")
    assert why(server, "reads").startswith("it reads what feeds writes, which is s")
    assert server.reconciler.process("feeds") is not None


def deployment(name: str, observed: str = "starting", asked_at: int = 0) -> Deployment:
    return Deployment(name, name, "", 1, RUNNING, observed, "", asked_at, 0)


def test_two_that_read_each_other_do_not_wait_for_each_other() -> None:
    needs = {
        "a": Needs(frozenset({"kafka/x"}), frozenset({"kafka/y"})),
        "b": Needs(frozenset({"kafka/y"}), frozenset({"kafka/z"})),
        "c": Needs(frozenset({"kafka/z"}), frozenset({"kafka/x"})),
        "d": Needs(frozenset({"kafka/z"})),
    }
    others = [deployment("b"), deployment("c")]
    assert obstacle(deployment("a"), others, needs, frozenset(), Limits(), 0) == ""
    assert obstacle(deployment("d"), others, needs, frozenset(), Limits(), 0) == "it reads what b writes, which is starting"
    assert obstacle(deployment("d"), [deployment("b", "running")], needs, frozenset(), Limits(), 0) == ""
    assert obstacle(deployment("d"), others, needs, frozenset(), Limits(), PATIENCE_MILLIS + 1) == "", "it is not waited for for ever"


def answering(server: Server) -> str:
    return ANSWERS.replace("SOCKET", repr(str(JobFolder(server.root, "orders").socket)))


def test_a_job_is_paused_and_goes_on(server: Server) -> None:
    server.programs.program = answering(server)
    server.deploy()
    until(server, lambda: observed(server) == "running")
    server.service.pause("orders", "ada")
    until(server, lambda: observed(server) == "paused")
    assert server.reconciler.process("orders") is not None, "what it has in memory stays there"
    server.ask("PATCH", "/deployments/orders", "operate", json={"desired": "running"})
    until(server, lambda: observed(server) == "running")
    told = [(one.verb, one.target) for one in server.registry.audit()]
    assert ("pause", "orders") in told


def test_a_job_that_ends_while_it_is_paused_is_not_started_until_it_is_resumed(server: Server) -> None:
    server.programs.program = answering(server)
    server.deploy()
    until(server, lambda: observed(server) == "running")
    server.service.pause("orders", "ada")
    until(server, lambda: observed(server) == "paused")
    os.kill(server.programs.started[0], signal.SIGKILL)
    until(server, lambda: server.reconciler.process("orders") is None)
    for _ in range(5):
        server.reconciler.look()
    assert (observed(server), len(server.programs.started)) == ("paused", 1)
    server.service.start("orders", "ada")
    until(server, lambda: observed(server) == "running")
    assert len(server.programs.started) == 2


def test_what_does_not_run_cannot_be_paused(server: Server) -> None:
    server.changing.deploy(Text("orders", SQL), ADA, starts=False)
    with pytest.raises(UsageError, match="nothing to pause") as caught:
        server.service.pause("orders", "ada")
    assert caught.value.code == "WR924"
