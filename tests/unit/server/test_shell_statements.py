"""Statements of the shell about the jobs of a server, and SELECT over system tables, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server.conftest import SQL, Server
from tests.unit.server.test_changing import impatient as impatient
from tests.unit.server.test_changing import looking
from tests.unit.server.test_remote_changes import Near
from windrow.cli.shell.system import Outside
from windrow.errors import UsageError


@pytest.fixture
def shell(server: Server, tmp_path: Path) -> Outside:
    return Outside(Near(server), tmp_path)


def test_a_job_from_its_deployment_to_its_end(server: Server, shell: Outside, tmp_path: Path, impatient: None) -> None:
    file = tmp_path / "orders.sql"
    file.write_text(SQL)
    assert shell.answer(f"DEPLOY JOB orders FROM '{file}' MESSAGE 'first';") == "orders: version 1 is deployed"
    for statement, desired in (("stop job orders;", "stopped"), ("START JOB orders", "running"), ('RESTART JOB "orders";', "running")):
        assert (shell.answer(statement) or "").endswith(f"is to be {desired}")
    with looking(server):
        server.service.stop("orders", "ada")
        file.write_text(SQL + "-- two")
        assert shell.answer(f"DEPLOY JOB orders FROM '{file}';") == "orders: version 2 is deployed"
    versions = (shell.answer("SHOW VERSIONS OF orders;") or "").splitlines()
    assert [line.split()[0] for line in versions] == ["n", "2", "1"]
    assert "first" in versions[2]
    assert (shell.answer("SHOW STATUS OF JOB orders;") or "").splitlines()[1].split()[0] == "orders"
    assert "orders" in (shell.answer("SHOW JOBS;") or "")
    assert shell.answer("SHOW METRICS;") == "no rows"
    assert shell.answer("SELECT name, version FROM system.jobs;") == "name    version\norders  2"
    with pytest.raises(UsageError) as raised:
        shell.answer("PAUSE JOB orders2;")
    assert raised.value.code == "WR922"


@pytest.mark.parametrize(
    "statement", ["START JOB", "STOP JOB a b", "DEPLOY JOB a", "ROLLBACK JOB a TO yesterday", "SHOW VERSIONS;", "PAUSE JOB 'x y'"]
)
def test_what_cannot_be_read_is_told_with_what_to_write(shell: Outside, statement: str) -> None:
    with pytest.raises(UsageError) as raised:
        shell.answer(statement)
    assert raised.value.hint


def test_without_a_server_there_are_folders_of_state_alone(tmp_path: Path) -> None:
    shell = Outside(None, tmp_path)
    assert shell.answer("SELECT * FROM system.jobs;") == "no rows"
    assert [shell.answer(text) for text in ("SELECT a FROM t", "SHOW STREAMS", "SHOW JOBS", "CREATE STREAM start (job INT)")] == [None] * 4
    for statement in ("START JOB orders", "SHOW VERSIONS OF orders"):
        with pytest.raises(UsageError) as raised:
            shell.answer(statement)
        assert "--server" in (raised.value.hint or "")
