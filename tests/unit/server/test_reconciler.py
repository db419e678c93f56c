"""Wishes and what becomes of them: started once, stopped in steps, started again, found by the next server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from tests.unit.server.conftest import SQL, WAITS, Programs, Server, make_server
from windrow.server.job_folders import JobFolder
from windrow.server.processes import log_lines


def until(server: Server, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        server.reconciler.look()
        deployments = server.registry.deployments()
        assert time.monotonic() < deadline, f"it did not come to that: {deployments}"
        time.sleep(0.02)


def observed(server: Server, name: str = "orders") -> str:
    return server.service.job(name).deployment.observed


def runs(server: Server, name: str = "orders") -> Callable[[], bool]:
    """Once it can be told to stop, too."""

    def check() -> bool:
        process = server.reconciler.process(name)
        return process is not None and "ready" in log_lines(JobFolder(server.root, name).log(process.run), 5)

    return check


def test_a_job_is_started_once_and_stopped_when_it_is_not_wanted_any_more(server: Server) -> None:
    server.deploy()
    until(server, runs(server))
    for _ in range(5):
        server.reconciler.look()
    assert len(server.programs.started) == 1
    server.service.stop("orders", "ada")
    until(server, lambda: observed(server) == "stopped")
    assert server.reconciler.process("orders") is None
    assert [(run.exit_code, run.version) for run in server.registry.runs("orders")] == [(0, 1)]


def test_a_job_that_is_killed_is_started_again(server: Server) -> None:
    server.deploy()
    until(server, runs(server))
    os.kill(server.programs.started[0], signal.SIGKILL)
    until(server, lambda: len(server.programs.started) == 2)
    ended = server.registry.runs("orders")[-1]
    assert (ended.exit_code, ended.ended_at is not None) == (None, True)


def test_a_job_that_goes_on_failing_uses_its_budget_up(server: Server) -> None:
    server.programs.program = "import sys; print('[WR860] a broker does not answer'); sys.exit(1)"
    server.deploy()
    until(server, lambda: observed(server) == "failed")
    assert len(server.programs.started) == 4
    assert "[WR860] a broker does not answer" in server.service.job("orders").deployment.why
    server.programs.program = WAITS
    server.service.start("orders", "ada")
    until(server, runs(server))


def test_what_is_wrong_for_good_is_not_tried_again(server: Server) -> None:
    server.programs.program = "import sys; print('[WR804] the state belongs to other statements'); sys.exit(2)"
    server.deploy()
    until(server, lambda: observed(server) == "failed")
    assert len(server.programs.started) == 1
    assert server.service.job("orders").deployment.why.startswith("[WR804]")


def test_an_input_that_ends_is_the_end_of_the_job(server: Server) -> None:
    server.programs.program = "pass"
    server.deploy()
    until(server, lambda: observed(server) == "ended")
    assert len(server.programs.started) == 1


def test_a_new_version_takes_the_place_of_the_one_that_runs(server: Server) -> None:
    server.deploy()
    until(server, runs(server))
    server.deploy(sql=SQL.replace("COUNT(*)", "SUM(v)"))
    until(server, lambda: (found := server.reconciler.process("orders")) is not None and found.version == 2)
    assert len(server.programs.started) == 2
    assert not os.path.exists(f"/proc/{server.programs.started[0]}/fd")


def test_a_restart_is_a_new_process_of_the_same_version(server: Server) -> None:
    server.deploy()
    until(server, runs(server))
    server.service.restart("orders", "ada")
    until(server, lambda: len(server.programs.started) == 2 and runs(server)())
    assert [run.version for run in server.registry.runs("orders")] == [1, 1]


def test_the_next_server_finds_what_runs(server: Server) -> None:
    server.deploy()
    until(server, runs(server))
    server.registry.close()
    after = _next_server(server)
    for _ in range(3):
        after.reconciler.look()
    assert len(server.programs.started) == 1
    after.service.stop("orders", "ada")
    until(after, lambda: observed(after) == "stopped")
    after.registry.close()
    server.registry = after.registry


def test_a_registry_that_is_lost_is_made_again(server: Server) -> None:
    server.deploy()
    server.deploy("returns", starts=False)
    until(server, runs(server))
    server.registry.close()
    for path in server.root.parent.glob("registry.db*"):
        path.unlink()
    after = _next_server(server)
    found = {one.pipeline: (one.desired, one.version) for one in after.registry.deployments()}
    assert found == {"orders": ("running", 1), "returns": ("stopped", 1)}
    assert [one.owner for one in after.registry.pipelines()] == ["ada", "ada"]
    for _ in range(3):
        after.reconciler.look()
    assert len(server.programs.started) == 1
    server.registry = after.registry


def _next_server(before: Server) -> Server:
    """Without children: the processes are not its own."""
    programs = Programs(before.root.parent)
    programs.started = before.programs.started
    return make_server(before.root.parent, programs)


def test_a_registry_that_is_lost_while_the_server_runs_is_told_the_rest(server: Server) -> None:
    told: list[bool] = []
    server.reconciler.mended = lambda: told.append(True)
    server.reconciler.look()
    assert told == []
    for path in server.root.parent.glob("registry.db*"):
        path.unlink()
    server.reconciler.look()
    server.reconciler.look()
    assert told == [True]
