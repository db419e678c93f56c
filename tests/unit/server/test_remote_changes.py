"""``--server`` of the commands that change a job: every option is passed on or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.property.changed_job import SECOND, PlainJob, Row
from tests.property.changed_job import Text as Query
from tests.unit.server.conftest import ADA, Server
from tests.unit.server.test_changing import looking
from windrow.cli import remote_changes
from windrow.cli.main import app
from windrow.errors import UsageError
from windrow.jobs.identity import read_card
from windrow.server.client import Client
from windrow.server.texts import Text

OLD = Query(("COUNT(*)", "SUM(v)"))
SAFE, DECIDE, REFUSED = replace(OLD, extra=", 1 AS one"), replace(OLD, calls=("SUM(v)",)), replace(OLD, folder="elsewhere")
URL = "http://localhost:8484"


class Near(Client):
    """A client whose server is in the same process."""

    def __init__(self, server: Server) -> None:
        super().__init__(URL, server.tokens["admin"])
        self._server = server

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, more: Mapping[str, str] | None = None) -> Any:
        answer = self._server.client.request(method, f"/api/v1{path}", headers={**self._server.auth(), **(more or {})}, json=body)
        told: Any = answer.json() if answer.content else None
        if answer.status_code >= 400:
            raise UsageError(told["code"], told["title"], told.get("hint"))
        return told


class Desk:
    """A file that has state at a server, and the commands to change it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.file, self.root = folder / "q.sql", server.root
        server.changing.deploy(Text("q", OLD.sql()), ADA, starts=False)
        self.job = PlainJob(server.root / "q")
        self.job.run(OLD, [[Row("a", 1, 1 * SECOND)], [Row("a", 3, 12 * SECOND)]])

    def __call__(self, command: str, query: Query, *options: str) -> Result:
        self.file.write_text(query.sql())
        return CliRunner().invoke(app, [command, str(self.file), "--server", URL, *options])

    def card(self) -> dict[str, Any]:
        return read_card(self.job.switch(OLD).folder)


@pytest.fixture
def desk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(remote_changes, "client_of", lambda _url, _token: Near(server))
    return Desk(server, tmp_path)


@pytest.mark.parametrize(("query", "code"), [(OLD, 0), (SAFE, 3), (DECIDE, 4), (REFUSED, 4)])
def test_the_exit_code_tells_what_a_plan_asks_for(desk: Desk, query: Query, code: int) -> None:
    assert desk("plan", query, "--exit-code").exit_code == code
    assert desk("plan", query, "--exit-code", "--format", "json").exit_code == code
    assert desk("plan", query).exit_code == 0


def test_a_plan_there_reads_as_one_here(desk: Desk) -> None:
    shown = desk("plan", replace(OLD, above=0)).output
    for told in (
        "E  where is v > 0",
        "cut      at 1970-01-01 00:00:20 UTC",
        "open     windows and groups: 1 of o",
        "stops the job at the end of a batch",
    ):
        assert told in shown


def test_strategy_and_message_reach_the_state(desk: Desk, server: Server) -> None:
    mixed = replace(OLD, above=0)
    assert "hold rows of both texts" in desk("plan", mixed, "--strategy", "mix").output
    with looking(server):
        assert desk("apply", mixed, "--strategy", "mix", "--message", "only above zero", "--yes").exit_code == 0
        assert {name: desk.card()["switch"][name] for name in ("strategy", "message")} == {"strategy": "mix", "message": "only above zero"}
        assert "cut" not in desk.card()
        assert desk("rollback", OLD, "--to", "1", "--message", "was wrong", "--yes").exit_code == 0
    assert desk.card()["switch"]["message"] == "was wrong"


def test_the_text_of_a_version(desk: Desk) -> None:
    assert desk("plan", DECIDE).exit_code == 0
    assert desk("history", OLD, "--text", "1").stdout.rstrip() == OLD.sql()
    assert desk("history", OLD, "--text", "2").stdout.rstrip() == DECIDE.sql()
    result = desk("history", OLD, "--text", "9")
    assert result.exit_code == 2
    assert "[WR618]" in result.output
    assert "there are: 1, 2" in result.output


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("plan", ["--rehearse"]),
        ("plan", ["--batches", "3"]),
        ("plan", ["--master", "local[2]"]),
        ("plan", ["--set", "spark.a=b"]),
        ("apply", ["--no-watch"]),
        ("apply", ["--watch-seconds", "5"]),
        ("apply", ["--run"]),
        ("apply", ["--set", "spark.a=b"]),
        ("apply", ["--master", "local[2]"]),
        ("rollback", ["--set", "spark.a=b"]),
        ("history", ["--set", "spark.a=b"]),
        ("history", ["--state", "folder"]),
    ],
)
def test_what_a_server_does_not_take_is_refused(desk: Desk, command: str, options: list[str]) -> None:
    result = desk(command, DECIDE, *options)
    assert result.exit_code == 2
    assert "[WR619]" in result.output
    assert options[0].replace("no-", "") in result.output
