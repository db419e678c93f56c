"""The OpenAPI description says what is there, and answers are as it says."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.unit.server.conftest import ADA, SQL, Server
from tests.unit.server.test_views import ran as ran
from windrow.server.texts import Text

METHODS = ("get", "post", "put", "patch", "delete")


def description(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/api/v1/openapi.json").json()
    return found


def operations(told: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, one) for path, methods in told["paths"].items() for method, one in methods.items() if method in METHODS]


def test_every_error_is_a_problem_and_every_answer_has_a_type(server: Server) -> None:
    told = description(server)
    assert told["openapi"].startswith("3.1")
    assert set(told["components"]["securitySchemes"]) == {"bearer", "cookie"}
    for method, path, operation in operations(told):
        assert operation["summary"], path
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
                assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
            elif status != "204" and "application/json" in answer.get("content", {}):
                schema = answer["content"]["application/json"]["schema"]
                assert "$ref" in schema or "$ref" in schema.get("items", {}), (method, path, schema)
        if operation.get("security"):
            assert [list(one) for one in operation["security"]] == [["bearer"], ["cookie"]], path


def test_every_body_has_an_example(server: Server) -> None:
    told = description(server)
    for _, path, operation in operations(told):
        if "requestBody" not in operation:
            continue
        (name,) = [operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
        schema = told["components"]["schemas"][name]
        needed = {key: schema["properties"][key] for key in schema.get("required", ())}
        lacking = [key for key, one in needed.items() if not one.get("examples") and "enum" not in one and one.get("type") != "boolean"]
        assert lacking == [], path


ANSWERS = [
    "/api/v1/overview", "/api/v1/datasets", "/api/v1/groups", "/api/v1/groups/all/topology", "/api/v1/groups/all/shared",
    "/api/v1/groups/all/drift?env1=&env2=", "/api/v1/pipelines/q", "/api/v1/pipelines/q/versions", "/api/v1/pipelines/q/versions/1/diff/1",
    "/api/v1/deployments/q/topology", "/api/v1/deployments/q/batches", "/api/v1/deployments/q/windows", "/api/v1/deployments/q/analysis",
    "/api/v1/deployments/q/windows/why?statement=candles", "/api/v1/deployments/q/state", "/api/v1/deployments/q/state/versions",
    "/api/v1/deployments/q/dead-letters", "/api/v1/deployments/q/dead-letters/summary", "/api/v1/deployments/q/lineage", "/api/v1/lineage",
    "/api/v1/deployments/q/history", "/api/v1/me", "/health/tables", "/health/progress", "/health/connections", "/health/metrics",
]  # fmt: skip


@pytest.mark.parametrize("path", ANSWERS)
def test_answers_are_as_they_are_described(ran: Server, path: str) -> None:
    told = description(ran)
    answer = ran.client.get(path, headers=ran.auth())
    assert answer.status_code == 200, answer.text
    known = {part: one for part, one in told["paths"].items() if "get" in one}
    asked = path.partition("?")[0].split("/")
    (template,) = [
        part for part in known
        if len(part.split("/")) == len(asked) and all(a == b or a.startswith("{") for a, b in zip(part.split("/"), asked, strict=True))
        and not (part.endswith("/{letter}") and asked[-1] == "summary") and part != "/health/{name}"
    ]  # fmt: skip
    schema = known[template]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": told["components"]})


def test_groups_are_named_by_texts_teams_and_tags(server: Server) -> None:
    noted = "-- @group: shop\n-- @team: orders\n-- @tags: money, live\n" + SQL
    for env in ("dev", "prod"):
        server.changing.deploy(Text("orders", noted, env=env), ADA, starts=False)
    server.deploy("other", starts=False)
    told: Any = server.ask("GET", "/groups", "read")
    assert {one["name"]: one["jobs"] for one in told} == {
        "all": ["orders@dev", "orders@prod", "other"],
        **{name: ["orders@dev", "orders@prod"] for name in ("shop", "orders", "money", "live")},
    }
    drift: Any = server.ask("GET", "/groups/shop/drift?env1=dev&env2=prod", "read")
    assert (drift["verdict"], [one["from"] for one in drift["jobs"]], drift["only_in"]) == ("same", ["orders@dev"], {"dev": [], "prod": []})
    answer = server.client.get("/api/v1/groups/nobody/topology", headers=server.auth())
    assert (answer.status_code, answer.json()["code"]) == (404, "WR922")


def test_two_versions_differ_in_lines_and_in_meaning(server: Server) -> None:
    server.deploy(starts=False)
    server.deploy(sql=SQL.replace("COUNT(*)", "SUM(v)"), starts=False)
    told: Any = server.ask("GET", "/pipelines/orders/versions/1/diff/2", "read")
    assert "-SELECT k, COUNT(*) AS n FROM t GROUP BY k;" in told["lines"]
    assert "+SELECT k, SUM(v) AS n FROM t GROUP BY k;" in told["lines"]
    (job,) = told["jobs"]
    assert (job["is"], bool(job["changes"])) == ("changed", True)
    same: Any = server.ask("GET", "/pipelines/orders/versions/2/diff/2", "read")
    assert (same["lines"], [one["is"] for one in same["jobs"]]) == ([], ["same"])


def test_metrics_of_the_server_are_for_those_with_a_token(server: Server) -> None:
    server.deploy(starts=False)
    assert server.client.get("/metrics").status_code == 401
    told = server.client.get("/metrics", headers=server.auth("read")).text
    assert 'windrow_server_job_state{job_name="orders",state="stopped"} 1' in told
    assert 'windrow_server_jobs{state="stopped"} 1' in told


def test_what_became_of_a_row(ran: Server) -> None:
    letters: Any = ran.ask("GET", "/deployments/q/dead-letters", "data")
    one = letters["letters"][0]
    place = f"source={one['source']}&partition={one['partition']}&offset={one['offset']}"
    told: Any = ran.ask("GET", f"/deployments/q/rows/why?{place}", "data")
    assert told[0]["letter"] == one["id"]
    answer = ran.client.get("/api/v1/deployments/q/rows/why?source=nothing&partition=0&offset=1", headers=ran.auth("data"))
    assert answer.json()["code"] == "WR654"


def test_batches_that_come_are_analyzed(ran: Server) -> None:
    told: Any = ran.ask("POST", "/deployments/q/analyze", "read", json={"batches": 2})
    assert told[0]["text"]
    assert ran.ask("POST", "/deployments/q/analyze", "read", json={"seconds": 0.05}) == []
