"""What the API answers, to whom, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.server.conftest import SQL, Server
from windrow.errors import UsageError
from windrow.server.registry import now_millis
from windrow.server.tokens import admin_token, new_token

OPEN = {("POST", "/api/v1/session"), ("DELETE", "/api/v1/session")}
METHODS = ("get", "post", "put", "patch", "delete")


def described(server: Server) -> list[tuple[str, str, str]]:
    """Method, path and scopes of everything that the API says it has."""
    paths = server.client.get("/api/v1/openapi.json").json()["paths"]
    return [
        (method.upper(), path, " ".join(told["security"][0]["bearer"]) if told.get("security") else "")
        for path, methods in paths.items()
        for method, told in methods.items()
        if method in METHODS
    ]


def test_every_path_of_the_api_asks_for_a_scope(server: Server) -> None:
    found = described(server)
    assert {(method, path) for method, path, scope in found if not scope} == OPEN
    assert len(found) > 40
    assert ("POST", "/api/v1/pipelines", "deploy") in found
    assert ("GET", "/api/v1/deployments/{name}/dead-letters", "data") in found
    assert ("POST", "/api/v1/deployments/{name}/dead-letters/replay", "operate data") in found


def test_without_a_token_with_a_wrong_one_and_with_too_weak_a_one(server: Server) -> None:
    _, expired = new_token(server.registry, "old", ["admin"], now_millis() - 1)
    for method, path, scope in described(server):
        if not scope:
            continue
        asked = re.sub(r"{\w+}", "orders", path)
        body: dict[str, object] | None = {} if method in ("POST", "PATCH", "PUT") else None
        for headers in ({}, {"Authorization": "Bearer wdr_nobody"}, {"Authorization": f"Bearer {expired}"}, {"Authorization": "Basic abc"}):
            answer = server.client.request(method, asked, headers=headers, json=body)
            assert (answer.status_code, answer.json()["code"]) == (401, "WR928"), path
        for weak in {"read", "data", "operate", "deploy"} - {scope}:
            answer = server.client.request(method, asked, headers=server.auth(weak), json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "WR929"), path


def test_a_job_from_text_to_removal(server: Server) -> None:
    made: Any = server.ask("POST", "/pipelines", "deploy", json={"name": "orders", "sql": SQL, "message": "first", "start": False})
    job = made["job"]
    assert (job["version"], job["desired"], job["owner"]) == (1, "stopped", "ada")
    assert [one["n"] for one in _list(server.ask("GET", "/pipelines/orders/versions"))] == [1]
    graph: Any = server.ask("GET", "/deployments/orders/topology")
    assert {"from": "t", "to": "out", "rows": None} in graph["edges"]
    assert server.ask("GET", "/deployments/orders/dead-letters")["letters"] == []  # type: ignore[index]
    server.ask("DELETE", "/pipelines/orders")
    assert server.ask("GET", "/pipelines") == []
    assert [one["verb"] for one in _list(server.ask("GET", "/audit"))] == ["remove", "read dead letters", "deploy"]


def test_wrong_sql_is_told_with_its_place_and_changes_nothing(server: Server) -> None:
    wrong = SQL.replace("COUNT(*)", "SUM(w)")
    answer = server.client.post("/api/v1/pipelines", headers=server.auth("deploy"), json={"name": "orders", "sql": wrong})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    (found,) = answer.json()["diagnostics"]
    assert (found["code"], found["line"], found["column"]) == ("WR214", 3, 15)
    assert server.registry.pipelines() == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "a b", "", "x" * 64, "1st", "a/b"])
def test_names_that_could_lead_elsewhere_are_refused(server: Server, name: str) -> None:
    answer = server.client.post("/api/v1/pipelines", headers=server.auth("deploy"), json={"name": name, "sql": SQL})
    assert answer.status_code == 422
    assert not server.root.exists()


def test_what_is_not_there_is_told_with_what_is(server: Server) -> None:
    server.ask("POST", "/pipelines", json={"name": "orders", "sql": SQL, "start": False})
    answer = server.client.get("/api/v1/deployments/orderz", headers=server.auth())
    assert (answer.status_code, answer.json()["code"], answer.json()["hint"]) == (404, "WR922", "there are: orders")


def test_unknown_fields_and_large_bodies_are_refused(server: Server) -> None:
    answer = server.client.post("/api/v1/check", headers=server.auth(), json={"sql": SQL, "sqll": 1})
    assert (answer.status_code, answer.json()["code"]) == (422, "WR926")
    answer = server.client.post("/api/v1/check", headers=server.auth(), content=b"x" * 2_000_001)
    assert answer.status_code == 413


def test_another_name_of_the_host_and_another_page_are_refused(server: Server) -> None:
    answer = server.client.get("/api/v1/pipelines", headers={**server.auth(), "Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (421, "WR927")
    body = {"name": "orders", "sql": SQL}
    answer = server.client.post("/api/v1/pipelines", headers={**server.auth(), "Origin": "http://evil.example"}, json=body)
    assert (answer.status_code, answer.json()["code"]) == (403, "WR927")
    answer = server.client.post("/api/v1/check", headers={**server.auth(), "Origin": "http://localhost:8484"}, json={"sql": SQL})
    assert answer.status_code == 200


def test_the_page_signs_in_with_a_cookie_that_scripts_cannot_read(server: Server) -> None:
    answer = server.client.post("/api/v1/session", json={"token": server.tokens["read"]})
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert server.client.get("/api/v1/me").json() == {"name": "read", "scopes": ["read"]}
    assert server.client.post("/api/v1/session", json={"token": "wdr_nobody"}).status_code == 422


def test_the_page_loads_nothing_from_elsewhere(server: Server) -> None:
    page = server.client.get("/")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert server.client.get("/page/main.js").status_code == 200
    assert server.client.get("/page/../registry.py").status_code == 404


def test_events_go_on_where_they_stopped(server: Server) -> None:
    for n in range(3):
        server.registry.add_event("job.state", "orders", f"number {n}")
    found = _list(server.ask("GET", "/events?after=1"))
    assert [one["message"] for one in found] == ["number 1", "number 2"]


def test_the_first_token_is_for_its_owners_eyes_and_stays_good(server: Server) -> None:
    path = admin_token(server.registry, server.root.parent)
    assert path.stat().st_mode & 0o777 == 0o600
    token = path.read_text().strip()
    assert server.client.get("/api/v1/tokens", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert admin_token(server.registry, server.root.parent).read_text().strip() == token


def test_a_token_that_is_removed_opens_nothing(server: Server) -> None:
    made: Any = server.ask("POST", "/tokens", json={"name": "ci", "scopes": ["read"]})
    assert server.client.get("/api/v1/me", headers={"Authorization": f"Bearer {made['token']}"}).status_code == 200
    server.ask("DELETE", f"/tokens/{made['id']}")
    assert server.client.get("/api/v1/me", headers={"Authorization": f"Bearer {made['token']}"}).status_code == 401
    assert all(made["token"] not in str(one) for one in _list(server.ask("GET", "/tokens")))


def _list(found: object) -> list[dict[str, Any]]:
    assert isinstance(found, list)
    return found


def test_a_name_of_a_job_begins_with_a_letter(server: Server) -> None:
    with pytest.raises(UsageError) as raised:
        server.deploy("1st")
    assert raised.value.code == "WR923"


def test_a_job_that_runs_is_not_removed(server: Server) -> None:
    server.ask("POST", "/pipelines", json={"name": "orders", "sql": SQL})
    answer = server.client.delete("/api/v1/pipelines/orders", headers=server.auth())
    assert (answer.status_code, answer.json()["code"]) == (409, "WR924")


def test_a_token_needs_scopes_that_there_are(server: Server) -> None:
    for scopes in (["write"], []):
        with pytest.raises(UsageError) as raised:
            new_token(server.registry, "ci", scopes)
        assert raised.value.code == "WR925"
