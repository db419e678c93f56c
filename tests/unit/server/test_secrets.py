"""What nobody may learn from the server: values of its environment, secrets in texts and flags; and what a lost registry must not open."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.unit.server.conftest import ADA, BOB, SERVER_VARIABLES, SQL, Programs, Server, make_server
from windrow.errors import SqlError, UsageError, WindrowError
from windrow.server.api.security import Rate
from windrow.server.app import make_app
from windrow.server.books import Who
from windrow.server.texts import Text
from windrow.server.tokens import new_token

PAIR = {"read", "deploy"}


def wanted(option: str, sink: str = "") -> str:
    return SQL.replace("'rows.per.second' = '1'", f"'rows.per.second' = '1', {option}") + sink


POSTGRES = (
    "CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator', 'rows.per.second' = '1');\n"
    "CREATE STREAM o WITH ('connector' = 'postgres', 'table' = 'o', %s) AS SELECT k, v FROM t;\n"
)


def values_in(answer: Any) -> list[str]:
    return [value for value in SERVER_VARIABLES.values() if value in answer.text]


LOOKS = [
    ("POST", "/check", {"sql": SQL.replace("'1'", "'${SECRET_X}'")}),
    ("POST", "/check", {"sql": "SELECT ${SECRET_X} FROM t"}),
    ("POST", "/explain", {"sql": SQL.replace("k, COUNT(*)", "'${SECRET_X}' AS s, k, COUNT(*)")}),
    ("POST", "/explain", {"sql": SQL.replace("k, COUNT(*)", "'${REGION}' AS s, k, COUNT(*)")}),
    ("POST", "/explain", {"sql": SQL.replace("CREATE STREAM t", "CREATE STREAM `${SECRET_X}`").replace("FROM t", "FROM `${SECRET_X}`")}),
    ("POST", "/lineage", {"sql": SQL.replace("AS n", "AS `${SECRET_X}`")}),
    ("POST", "/fmt", {"sql": "SELECT '${SECRET_X}' FROM t"}),
    ("POST", "/impact", {"sql": SQL.replace("AS n", "AS `${SECRET_X}`")}),
    ("POST", "/complete", {"sql": "CREATE STREAM `${SECRET_X}` (a INT) WITH ('connector' = 'generator'); SELECT ", "at": 79}),
    ("POST", "/explain", {"sql": SQL, "project": "variables: {A: '${SECRET_X}'}\nstreams: {t: {fields.k: 'choice(${A})'}}\n"}),
]


@pytest.mark.parametrize(("method", "path", "body"), LOOKS)
def test_a_text_that_is_only_looked_at_has_no_value_of_the_environment(server: Server, method: str, path: str, body: Any) -> None:
    answer = server.client.request(method, f"/api/v1{path}", headers=server.auth("read"), json=body)
    assert values_in(answer) == []
    assert answer.status_code in (200, 422), answer.text


def test_who_may_not_deploy_is_told_why_a_name_has_no_value(server: Server) -> None:
    body = {"sql": SQL.replace("FROM t", "FROM t WHERE v > ${SECRET_X}")}
    told = server.client.post("/api/v1/check", headers=server.auth("read"), json=body).json()
    assert (told["code"], told["diagnostics"][0]["line"]) == ("WR951", 3)
    assert "${SECRET_X:-value}" in told["hint"]
    default = {"sql": SQL.replace("FROM t", "FROM t WHERE v > ${LEAST:-3}")}
    assert server.client.post("/api/v1/check", headers=server.auth("read"), json=default).status_code == 200


def test_who_may_deploy_has_a_text_checked_with_its_values(server: Server) -> None:
    body = {"sql": SQL.replace("k, COUNT(*)", "'${REGION}' AS s, k, COUNT(*)")}
    answer = server.client.post("/api/v1/explain", headers=server.auth("read deploy"), json=body)
    assert "eu-north" in answer.text
    hidden = {"sql": SQL.replace("k, COUNT(*)", "'${SECRET_X}' AS s, k, COUNT(*)")}
    assert values_in(server.client.post("/api/v1/explain", headers=server.auth("read deploy"), json=hidden)) == []


def test_looking_at_a_text_runs_none_of_its_modules(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "it ran"
    (tmp_path / "sly_module.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef f(x): return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    function = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'sly_module:f';\n"
    sql = function + SQL.replace("k, COUNT(*)", "k, SUM(f(v)) AS s, COUNT(*)")
    for scope in ("read", "read deploy"):
        assert server.client.post("/api/v1/check", headers=server.auth(scope), json={"sql": sql}).status_code == 200
    server.deploy(sql=sql, starts=False)
    assert not mark.exists()


@pytest.mark.parametrize(
    "option",
    [
        "'url' = 'postgresql://u:pw1@h/db'",
        "'url' = 'postgresql://u:${PW:-pw1}@h/db'",
        "'url' = 'postgresql://h/db?password=pw1'",
        "'host' = 'h', 'database' = 'db', 'password' = 'pw1'",
        "'host' = 'h', 'database' = 'db', password = 'pw1'",
    ],
)
def test_a_text_with_a_secret_in_it_is_refused(server: Server, option: str) -> None:
    answer = server.client.post("/api/v1/pipelines", headers=server.auth("deploy"), json={"name": "o", "sql": POSTGRES % option})
    told = answer.json()
    assert (answer.status_code, told["code"], told["diagnostics"][0]["line"]) == (422, "WR950", 2)
    assert "${NAME}" in told["hint"]
    assert "pw1" not in answer.text
    assert server.registry.pipelines() == []


def test_a_text_names_its_secrets(server: Server) -> None:
    for option in ("'url' = 'postgresql://u:${PG_PIN}@h/db'", "'host' = 'h', 'database' = 'db', 'password' = '${PG_PIN}'"):
        server.changing.deploy(Text("o", POSTGRES % option), ADA, starts=False)
        for path in ("/pipelines/o/versions", "/deployments/o/topology", "/deployments/o/lineage"):
            answer = server.client.get(f"/api/v1{path}", headers=server.auth("read"))
            assert answer.status_code == 200, answer.text
            assert values_in(answer) == []
        assert option in server.client.get("/api/v1/pipelines/o/versions", headers=server.auth("read")).json()[0]["sql"]


def test_a_project_names_its_secrets_too(server: Server) -> None:
    for project in (
        "variables: {DB_PASSWORD: pw1}\n",
        "sinks: {o: {connector: postgres, url: 'postgresql://u:pw1@h/db', table: o}}\n",
        "environments: {prod: {connectors: {postgres: {password: pw1}}}}\n",
    ):
        with pytest.raises(SqlError) as raised:
            server.changing.deploy(Text("orders", SQL, project), ADA, starts=False)
        assert raised.value.code == "WR950", project
    included = (("more.sql", "CREATE TABLE p (k STRING) WITH ('connector' = 'postgres', 'table' = 'p', 'password' = 'pw1');"),)
    with pytest.raises(SqlError) as raised:
        server.changing.deploy(Text("orders", SQL, "include: more.sql\n", "", included), ADA, starts=False)
    assert raised.value.code == "WR950"
    server.changing.deploy(Text("orders", SQL, "variables: {DB_PASSWORD: '${PG_PIN}', MAX_TOKENS: 500}\n"), ADA, starts=False)


def test_a_text_that_an_older_server_took_is_shown_without_its_secrets(server: Server) -> None:
    server.deploy(starts=False)
    old = POSTGRES % "'url' = 'postgresql://u:pw1@h/db', 'password' = 'pw2'"
    files = json.dumps({"p.sql": "-- x\nCREATE TABLE p (k STRING) WITH ('connector' = 'postgres', 'password' = 'pw3')"})
    server.registry.add_version("orders", old, "", "ada", "variables:\n  DB_PASSWORD: pw4\n", files)
    told = server.client.get("/api/v1/pipelines/orders/versions", headers=server.auth("read")).text
    assert not [one for one in ("pw1", "pw2", "pw3", "pw4") if one in told]
    assert "postgresql://u:***@h/db" in told


def test_flags_do_not_tell_secrets(server: Server) -> None:
    for body in ({"name": "API_KEY", "value": "pw1"}, {"name": "PLAIN", "value": "pw1", "is_secret": True}):
        server.ask("PUT", "/flags", "deploy", json=body)
    server.ask("PUT", "/flags", "deploy", json={"name": "DB", "value": "postgresql://u:pw1@h/db"})
    server.ask("PUT", "/flags", "deploy", json={"name": "RATE", "value": "5"})
    told: Any = server.ask("GET", "/flags", "read")
    assert {one["name"]: one["value"] for one in told} == {"API_KEY": "***", "PLAIN": "***", "DB": "***", "RATE": "5"}
    assert "pw1" not in str(server.ask("GET", "/audit"))
    assert server.service.books.flags("")["API_KEY"] == "pw1"


def test_flags_of_a_protected_environment_are_approved_by_another(server: Server) -> None:
    server.ask("PUT", "/environments", json={"name": "prod", "is_protected": True})
    body, wish = {}, ""
    for env in ("prod", ""):
        body = {"name": "RATE", "value": "5", "env": env}
        answer = server.client.put("/api/v1/flags", headers=server.auth("deploy"), json=body)
        assert (answer.status_code, server.service.books.flags("prod")) == (202, {})
        wish = answer.json()["waits_for"]
        own = server.client.post(f"/api/v1/flags/waiting/{wish}/approve", headers=server.auth("deploy"))
        assert (own.status_code, own.json()["code"]) == (409, "WR940")
    assert server.client.put("/api/v1/flags", headers=server.auth("deploy"), json={**body, "env": "dev"}).status_code == 200
    assert [one["env"] for one in server.ask("GET", "/flags/waiting", "read")] == ["", "prod"]  # type: ignore[attr-defined]
    server.ask("POST", f"/flags/waiting/{wish}/approve", "read deploy")
    assert server.service.books.flags("prod") == {"RATE": "5"}
    again = server.client.post(f"/api/v1/flags/waiting/{wish}/approve", headers=server.auth("read deploy"))
    assert again.json()["code"] == "WR937"
    assert server.client.post("/api/v1/flags/waiting/nothing/approve", headers=server.auth()).json()["code"] == "WR922"


def refusal(call: Any) -> WindrowError:
    with pytest.raises(WindrowError) as raised:
        call()
    return raised.value


def test_whoever_has_the_same_name_is_not_the_same(server: Server) -> None:
    server.service.protect("prod", "ada", is_protected=True)
    plan = server.changing.plan(Text("orders", SQL, env="prod"), Who("7", "ci"))
    assert refusal(lambda: server.changing.approve(plan.id, Who("7", "another name"))).code == "WR940"
    assert server.changing.approve(plan.id, Who("8", "ci")).approver == "8"


def test_going_back_in_a_protected_environment_is_approved_first(server: Server) -> None:
    for sql in (SQL, SQL + "-- two"):
        server.changing.deploy(Text("orders", sql, env="prod"), ADA, starts=False)
    server.service.protect("prod", "ada", is_protected=True)
    assert refusal(lambda: server.changing.rollback("orders@prod", 1, "ada")).code == "WR938"
    made: Any = server.ask("POST", "/deployments/orders@prod/rollback/plan", "deploy", json={"to": 1})
    assert (made["kind"], made["to_version"]) == ("rollback", 1)
    assert refusal(lambda: server.changing.apply(made["id"], "ada")).code == "WR940"
    server.changing.approve(made["id"], BOB)
    operation = server.changing.apply(made["id"], "ada")
    assert operation.kind == "rollback"
    deadline = time.monotonic() + 60
    while server.changing.operation(operation.id).ended_at is None:
        assert time.monotonic() < deadline
        server.reconciler.look()
    assert server.service.job("orders@prod").deployment.version == 1


def test_a_lost_registry_opens_nothing(server: Server) -> None:
    server.service.protect("prod", "ada", is_protected=True)
    server.changing.deploy(Text("orders", SQL, env="dev"), ADA, starts=False)
    server.service.set_flag("RATE", "dev", "5", ADA)
    assert (server.root / "environments.json").stat().st_mode & 0o077 == 0
    after = lost(server)
    assert [(one.name, one.is_protected) for one in after.service.books.environments()] == [("dev", False), ("prod", True)]
    assert after.service.books.flags("dev") == {"RATE": "5"}
    # Without the file as well nobody knows, so what has jobs is closed.
    (server.root / "environments.json").unlink()
    after = lost(after)
    assert [(one.name, one.is_protected) for one in after.service.books.environments()] == [("dev", True)]
    assert any("environment dev is protected" in one.message for one in after.registry.events())
    after.service.protect("dev", "ada", is_protected=False)
    after = lost(after)
    assert [(one.name, one.is_protected) for one in after.service.books.environments()] == [("dev", False)]
    server.registry = after.registry


def test_a_spoiled_note_of_environments_closes_them(server: Server) -> None:
    server.changing.deploy(Text("orders", SQL, env="dev"), ADA, starts=False)
    (server.root / "environments.json").write_text("half of i")
    server.registry.close()
    after = make_server(server.root.parent, server.programs)
    assert [(one.name, one.is_protected) for one in after.service.books.environments()] == [("dev", True)]
    server.registry = after.registry


def lost(server: Server) -> Server:
    server.registry.close()
    for path in server.root.parent.glob("registry.db*"):
        path.unlink()
    return make_server(server.root.parent, Programs(server.root.parent))


def test_guesses_at_tokens_share_one_rate_and_take_nothing_from_the_others(server: Server) -> None:
    from fastapi.testclient import TestClient

    app = make_app(server.service, rate=Rate(requests=1000, burst=1000, strangers=1))
    client = TestClient(app, base_url="http://localhost:8484")
    assert client.get("/api/v1/me", headers=server.auth("read")).status_code == 200
    codes = [client.get("/api/v1/me", headers={"Authorization": f"Bearer wdr_{n}"}).status_code for n in range(20)]
    assert set(codes) == {401, 429}
    assert codes.count(401) <= 4
    assert client.post("/api/v1/session", json={"token": "wdr_nobody"}).status_code == 429
    assert {client.get("/api/v1/me", headers=server.auth("read")).status_code for _ in range(50)} == {200}


@pytest.mark.parametrize("path", ["/api/v1/events/stream?after=0", "/api/v1/live"])
def test_a_stream_ends_with_its_token(server: Server, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.server.api.live.PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("windrow.server.api.routes._PAUSE", 0.02)
    id_, token = new_token(server.registry, "short", ["read"])
    told: list[bytes] = []

    async def listen() -> None:
        """Over ASGI itself: the test client waits for the end of an answer."""

        async def receive() -> dict[str, Any]:
            await anyio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message.get("body", b""))
            if len(told) == 2:
                server.registry.remove_token(id_)

        route, _, query = path.partition("?")
        headers = [(b"host", b"localhost:8484"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": "GET", "path": route, "query_string": query.encode(), "headers": headers, "http_version": "1.1"}
        with anyio.fail_after(20):
            await server.client.app({**scope, "scheme": "http", "client": ("127.0.0.1", 1), "server": ("localhost", 8484)}, receive, send)

    anyio.run(listen)
    assert told[0] == b""
    assert told[-1] == b""


def test_files_of_a_text_stay_in_their_place(server: Server) -> None:
    for path in (
        "../x.sql",
        "/etc/x",
        "a/../../x",
        ".hidden",
        "a/.b",
        "state/x",
        "orders.sql",
        "windrow.yaml",
        "a//b",
        "a\nb",
        "deployment.json",
    ):
        with pytest.raises(UsageError) as raised:
            server.changing.deploy(replace(Text("orders", SQL), files=((path, "x"),)), ADA, starts=False)
        assert raised.value.code == "WR935", path


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SERVER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
