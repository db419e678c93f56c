"""Commands about who may change what: plans, promotion, flags, tokens, environments."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.server.conftest import ADA, SQL, Server
from tests.unit.server.test_changing import looking
from tests.unit.server.test_remote_changes import Near
from windrow.cli import governing, remote_changes
from windrow.cli.main import app
from windrow.server.texts import Text
from windrow.server.tokens import new_token

URL = "http://localhost:8484"


class Desk:
    """A command line whose server is in the same process; ``who`` is the scope of the token that asks."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.who = "admin"

    def client(self, _url: str, _token: Path | None) -> Near:
        made = Near(self.server)
        desk = self

        class As(Near):
            def _ask(self, method, path, body=None, more=None):  # type: ignore[no-untyped-def]
                return super()._ask(method, path, body, {**(more or {}), **desk.server.auth(desk.who)})

        made.__class__ = As
        return made

    def __call__(self, *words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*words, "--server", URL])
        assert done.exit_code == code, done.output
        return done.output


@pytest.fixture
def desk(server: Server, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(server)
    for module in (governing, remote_changes):
        monkeypatch.setattr(module, "client_of", made.client)
    return made


def test_from_one_environment_to_a_protected_one(desk: Desk) -> None:
    desk.server.changing.deploy(Text("orders", SQL, env="dev"), ADA, starts=False)
    assert desk("environments", "protect", "prod") == "prod is protected\n"
    assert "prod         protected" in desk("environments", "list")
    desk.who = "deploy operate read"
    plan = desk("promote", "orders@dev", "prod").split()[1].rstrip(":")
    assert "WR940" in desk("approve", plan, code=2)
    desk.who = "operate deploy read"
    with looking(desk.server):
        assert "orders@prod: version 1 is deployed" in desk("approve", plan, "--apply")
    desk.who = "read"
    told = desk("diff", "orders", "dev", "prod")
    assert told.startswith("orders@dev and orders@prod: same")
    desk.who = "admin"
    assert desk("environments", "unprotect", "prod") == "prod is not protected any more\n"


def test_going_back_where_it_has_to_be_approved(desk: Desk) -> None:
    for sql in (SQL, SQL + "-- two"):
        desk.server.changing.deploy(Text("orders", sql, env="prod"), ADA, starts=False)
    desk.server.service.protect("prod", "ada", is_protected=True)
    desk.who = "deploy operate read"
    told = desk("rollback", "orders@prod", "--to", "1", "--yes", code=1)
    plan = told.split()[1].rstrip(":")
    assert f"windrow approve {plan}" in told
    desk.who = "deploy"
    assert "is approved" in desk("approve", plan)
    desk.who = "deploy operate read"
    with looking(desk.server):
        assert "back at version 1" in desk("rollback", "orders@prod", "--to", "1", "--yes")


def test_flags_from_the_command_line(desk: Desk) -> None:
    assert desk("flags", "set", "RATE", "5") == "RATE is set\n"
    assert desk("flags", "set", "PLAIN", "pw1", "--secret") == "PLAIN is set\n"
    assert desk("flags", "unset", "RATE") == "RATE is set\n"
    told = desk("flags", "list").splitlines()
    assert [line.split()[:3] for line in told[1:]] == [["RATE", "(all)", "removed"], ["PLAIN", "(all)", "***"], ["RATE", "(all)", "5"]]
    desk("environments", "protect", "prod")
    wish = desk("flags", "set", "RATE", "6", "--env", "prod").split()[-1]
    assert wish in desk("flags", "list")
    desk.who = "deploy"
    assert desk("flags", "approve", wish) == "the flag is set\n"
    assert desk.server.service.books.flags("prod")["RATE"] == "6"


def test_tokens_from_the_command_line(desk: Desk) -> None:
    token = desk("tokens", "make", "ci", "--scope", "read", "--scope", "deploy", "--days", "3").strip()
    assert desk.server.client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).json()["scopes"] == ["read", "deploy"]
    line = next(line for line in desk("tokens", "list").splitlines() if " ci " in line)
    assert "read, deploy" in line
    desk("tokens", "remove", line.split()[0])
    assert desk.server.client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_a_token_comes_from_a_file(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = new_token(server.registry, "ci", ["read"])
    (tmp_path / "token").write_text(token + "\n")
    given: list[str | None] = []

    class Noting(Near):
        def __init__(self, _url: str, token: str | None = None) -> None:
            super().__init__(server)
            given.append(token)

    monkeypatch.setattr("windrow.server.client.Client", Noting)
    file = tmp_path / "orders.sql"
    file.write_text(SQL)
    server.deploy(starts=False)
    for words in (["plan", str(file)], ["history", str(file)], ["events", "orders"]):
        done = CliRunner().invoke(app, [*words, "--server", URL, "--token-file", str(tmp_path / "token")])
        assert done.exit_code == 0, done.output
    assert set(given) == {token}
