"""Plans, approvals, applying and going back, over real states that no Spark has made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row
from tests.property.changed_job import Text as Query
from tests.unit.server.conftest import ADA, BOB, SQL, Server, make_server
from windrow.cli.sending import parcel_of
from windrow.errors import UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.identity import read_card
from windrow.presets import PRESETS, write_project
from windrow.server import changing
from windrow.server.admission import parse_size
from windrow.server.books import Operation
from windrow.server.job_folders import JobFolder
from windrow.server.texts import Text, read_files

OLD = Query(("COUNT(*)", "SUM(v)"))
BATCHES = [[Row("a", 1, 1 * SECOND), Row("b", 2, 4 * SECOND)], [Row("a", 3, 12 * SECOND)]]
# Another name of a column: safe. One aggregate less: to be decided. Other windows: refused.
SAFE, DECIDE, REFUSED = replace(OLD, extra=", 1 AS one"), replace(OLD, calls=("SUM(v)",)), replace(OLD, folder="elsewhere")


@contextmanager
def looking(server: Server) -> Iterator[None]:
    """The reconciler at work, as it is while a server runs."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            server.reconciler.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in the place of jobs commit no batch, so nothing is gained by watching them for long."""
    monkeypatch.setattr(changing, "WATCH_SECONDS", 1.5)


@pytest.fixture
def job(server: Server) -> PlainJob:
    """Deployed, with a state of two batches; it does not run."""
    server.changing.deploy(Text("q", OLD.sql()), ADA, starts=False)
    made = PlainJob(server.root / "q")
    made.run(OLD, BATCHES)
    return made


def ended(server: Server, operation: Operation) -> Operation:
    deadline = time.monotonic() + 60
    while (found := server.changing.operation(operation.id)).ended_at is None:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def refusal(call: Callable[[], object]) -> WindrowError:
    with pytest.raises(WindrowError) as raised:
        call()
    return raised.value


def test_a_plan_says_what_it_does_and_applying_does_it(server: Server, job: PlainJob) -> None:
    plan = server.changing.plan(Text("q", DECIDE.sql()), ADA)
    (told,) = plan.content["jobs"]
    assert (told["class"], told["can_apply"], plan.from_version, plan.to_version) == ("D", True, 1, 2)
    assert server.service.job("q").deployment.version == 1
    with looking(server):
        operation = ended(server, server.changing.apply(plan.id, "ada"))
    assert (operation.state, operation.step) == ("succeeded", "version 2 is in place; the job does not run")
    assert server.service.job("q").deployment.version == 2
    assert [one["version"] for one in server.changing.history("q")] == [1, 2]


def test_going_back_takes_the_state_with_it(server: Server, job: PlainJob) -> None:
    with looking(server):
        ended(server, server.changing.apply(server.changing.plan(Text("q", DECIDE.sql()), ADA).id, "ada"))
        assert refusal(lambda: server.changing.rollback("q", 2, "ada")).code == "WR675"
        operation = ended(server, server.changing.rollback("q", 1, "bob"))
    assert (operation.state, operation.step) == ("succeeded", "back at version 1")
    card = read_card(job.switch(OLD).folder)
    assert (card["version"], card["switch"]["rolled_back_to"], card["switch"]["by"]) == (3, 1, "bob")


def test_a_text_that_changes_what_state_means_needs_a_plan(server: Server, job: PlainJob) -> None:
    error = refusal(lambda: server.changing.deploy(Text("q", DECIDE.sql()), ADA))
    assert error.code == "WR939"
    assert refusal(lambda: server.changing.deploy(Text("q", REFUSED.sql()), ADA)).code == "WR673"
    assert server.service.job("q").deployment.version == 1
    with looking(server):
        operation = server.changing.deploy(Text("q", SAFE.sql()), ADA, starts=False)
        assert operation is not None
        assert ended(server, operation).state == "succeeded"


def test_what_cannot_be_carried_over_is_planned_and_not_applied(server: Server, job: PlainJob) -> None:
    plan = server.changing.plan(Text("q", REFUSED.sql()), ADA)
    assert not plan.content["can_apply"]
    assert refusal(lambda: server.changing.apply(plan.id, "ada")).code == "WR673"


def test_a_plan_is_refused_once_something_else_is_deployed(server: Server) -> None:
    server.deploy(starts=False)
    plan = server.changing.plan(Text("orders", SQL + "-- two"), ADA)
    server.deploy(sql=SQL + "-- three", starts=False)
    answer = server.client.post(f"/api/v1/plans/{plan.id}/apply", headers=server.auth())
    assert (answer.status_code, answer.json()["code"]) == (409, "WR937")


def test_the_same_key_is_the_same_wish(server: Server, impatient: None) -> None:
    server.deploy()
    path = f"/api/v1/plans/{server.changing.plan(Text('orders', SQL + '-- two'), ADA).id}/apply"
    headers = {**server.auth(), "Idempotency-Key": "k1"}
    with looking(server):
        first = server.client.post(path, headers=headers)
        assert first.status_code == 202
        operation = server.changing.operation(first.json()["id"])
        assert first.headers["location"] == f"/api/v1/operations/{operation.id}"
        assert ended(server, operation).state == "succeeded"
        assert server.client.post(path, headers=headers).json()["id"] == operation.id
        assert server.client.post(path, headers={**headers, "Idempotency-Key": "k2"}).status_code == 409
    assert len(server.service.books.operations()) == 1


def test_a_protected_environment_wants_a_plan_that_another_approves(server: Server) -> None:
    server.ask("PUT", "/environments", json={"name": "prod", "is_protected": True})
    text = Text("orders", SQL, env="prod")
    assert refusal(lambda: server.changing.deploy(text, ADA)).code == "WR938"
    plan = server.changing.plan(text, ADA)
    assert refusal(lambda: server.changing.apply(plan.id, "ada")).code == "WR940"
    assert refusal(lambda: server.changing.approve(plan.id, ADA)).code == "WR940"
    server.changing.approve(plan.id, BOB)
    with looking(server):
        assert ended(server, server.changing.apply(plan.id, "ada")).state == "succeeded"
    assert server.service.job("orders@prod").deployment.env == "prod"


def test_promotion_is_a_plan_for_the_next_environment_and_diff_says_what_differs(server: Server) -> None:
    project = "variables: {LEAST: 1}\nenvironments:\n  dev: {}\n  prod: {variables: {LEAST: 5}}\n"
    sql = SQL.replace("FROM t", "FROM t WHERE v > ${LEAST}")
    server.changing.deploy(Text("orders", sql, project, "dev"), ADA, starts=False)
    made: Any = server.ask("POST", "/deployments/orders@dev/promote", "deploy", json={"to": "prod"})
    assert (made["deployment"], made["from_version"], made["to_version"]) == ("orders@prod", 0, 1)
    with looking(server):
        ended(server, server.changing.apply(made["id"], "ada"))
    found: Any = server.ask("GET", "/pipelines/orders/diff?env1=dev&env2=prod")
    assert found["configuration"]["values"] == {"variables.LEAST": ["1", "5"]}
    assert (found["version"]["verdict"], found["schema"]["verdict"], found["verdict"]) == ("same", "same", "differs as it is meant to")
    server.service.set_flag("NEW_RULES", "prod", "on", ADA)
    drifted: Any = server.ask("GET", "/pipelines/orders/diff?env1=dev&env2=prod")
    assert (drifted["verdict"], drifted["configuration"]["flags"]) == ("drift", {"NEW_RULES": [None, "on"]})


def test_a_version_that_fails_is_taken_back(server: Server, impatient: None) -> None:
    server.deploy()
    plan = server.changing.plan(Text("orders", SQL + "-- two"), ADA)
    with looking(server):
        deadline = time.monotonic() + 60
        while server.reconciler.process("orders") is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        server.programs.program = "import sys; print('[WR804] the state belongs to other statements'); sys.exit(2)"
        operation = ended(server, server.changing.apply(plan.id, "ada"))
    assert operation.state == "failed"
    assert operation.content["error"]["code"] == "WR941"
    assert "orders is back at version 1: [WR804]" in operation.content["error"]["title"]
    assert server.service.job("orders").deployment.version == 1


def test_an_operation_that_a_server_left_is_done_by_the_next(server: Server, job: PlainJob) -> None:
    plan = server.changing.plan(Text("q", DECIDE.sql()), ADA)
    operation, _ = server.service.books.begin("apply", "q", {"plan": plan.id, "to": 2}, "ada")
    server.service.books.step(operation, "stopping the job")
    with looking(server):
        server.changing.begin()
        assert ended(server, operation).state == "succeeded"
    assert server.service.job("q").deployment.version == 2


def test_two_changes_of_one_job_do_not_cross(server: Server, job: PlainJob) -> None:
    server.service.books.begin("apply", "q", {"to": 2}, "ada")
    assert refusal(lambda: server.changing.restore("q", 0, "ada")).code == "WR937"


def test_a_project_without_the_files_that_it_includes_is_refused(server: Server) -> None:
    error = refusal(lambda: server.changing.deploy(Text("orders", SQL, "include: [streams.sql]\n", ""), ADA))
    assert (error.code, error.message) == ("WR935", "windrow.yaml includes streams.sql, which did not come with it")


def test_what_is_larger_than_a_text_may_be_is_refused(server: Server) -> None:
    large = (("data/a.csv", "x" * 1_000_001),)
    error = refusal(lambda: server.changing.deploy(Text("orders", SQL, files=large), ADA))
    assert (error.code, "1,000,001 bytes" in error.message) == ("WR935", True)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_query_of_a_preset_can_be_deployed(server: Server, preset: str, tmp_path: Path) -> None:
    home = tmp_path / "project"
    write_project(preset, home)
    for path in sorted((home / "queries").glob("*.sql")):
        parcel = parcel_of(str(path))
        files = tuple(sorted(parcel.files.items()))
        server.changing.deploy(Text(path.stem, parcel.sql, parcel.project, "dev", files), ADA, starts=False)
        shown: Any = server.ask("GET", f"/pipelines/{path.stem}/versions", "read")
        assert "sources.sql" in shown[0]["files"]
        assert server.ask("GET", f"/deployments/{path.stem}@dev/topology", "read")["nodes"]  # type: ignore[index]
    assert server.ask("GET", "/lineage", "read")["edges"]  # type: ignore[index]


def test_the_files_of_a_text_lie_where_its_job_works(server: Server, tmp_path: Path) -> None:
    home = tmp_path / "project"
    write_project("llm-ops", home)
    parcel = parcel_of(str(home / "queries" / "performance.sql"))
    assert {"sources.sql", "queries/feedback.sql", "data/prices.jsonl"} <= set(parcel.files)
    server.changing.deploy(Text("performance", parcel.sql, parcel.project, "dev", tuple(parcel.files.items())), ADA)
    server.reconciler.look()
    folder = JobFolder(server.root, "performance@dev")
    assert (folder.path / "data" / "prices.jsonl").read_text() == parcel.files["data/prices.jsonl"]
    assert (folder.sql(1).parent / "sources.sql").exists()
    assert not (folder.path / "sources.sql").exists()
    server.registry.close()
    for path in server.root.parent.glob("registry.db*"):
        path.unlink()
    after = make_server(server.root.parent, server.programs)
    assert dict(read_files(after.service.present("performance@dev").files)) == parcel.files
    server.registry = after.registry


def test_a_python_function_goes_along(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text("def half(x): return x\n")
    file = tmp_path / "orders.sql"
    file.write_text("CREATE FUNCTION half(x INT) RETURNS INT LANGUAGE PYTHON AS 'prices:half';\n" + SQL)
    assert parcel_of(str(file)).files == {"prices.py": "def half(x): return x\n"}


def test_a_job_in_one_environment_alone_is_found_by_its_pipeline(server: Server) -> None:
    server.changing.deploy(Text("orders", SQL, env="dev"), ADA, starts=False)
    assert [one["n"] for one in server.ask("GET", "/pipelines/orders/versions", "read")] == [1]  # type: ignore[attr-defined]
    assert server.ask("GET", "/lineage?column=t.k&direction=down", "read")["edges"]  # type: ignore[index]
    server.ask("DELETE", "/pipelines/orders")
    assert server.registry.pipelines() == []
    assert not (server.root / "orders@dev").exists()


def test_a_flag_is_a_variable_with_a_history(server: Server) -> None:
    for value in ("1", "2", None):
        server.ask("PUT", "/flags", "deploy", json={"name": "RATE", "value": value})
    history: Any = server.ask("GET", "/flags?name=RATE")
    assert [one["value"] for one in history] == [None, "2", "1"]
    server.service.set_flag("RATE", "", "3", ADA)
    server.deploy(sql=SQL.replace("'1'", "'${RATE}'"), starts=False)
    assert server.service.set_flag("RATE", "", "4", ADA) is None
    assert server.service.named_by("RATE", "") == ["orders"]
    assert refusal(lambda: server.service.set_flag("PATH", "", "x", ADA)).code == "WR923"


def test_memory_that_is_no_amount() -> None:
    with pytest.raises(UsageError) as raised:
        parse_size("much", "--max-memory")
    assert raised.value.code == "WR936"


def test_going_back_to_a_batch_of_a_protected_environment_is_approved_first(server: Server) -> None:
    """To operate is not enough: rows would be given twice that somebody else answers for."""
    server.changing.deploy(Text("q", OLD.sql(), env="prod"), ADA, starts=False)
    made = PlainJob(server.root / "q@prod")
    made.run(OLD, BATCHES)
    server.service.protect("prod", "ada", is_protected=True)
    path = "/api/v1/deployments/q@prod/restore"
    refused = server.client.post(path, headers=server.auth("operate"), json={"batch": 0})
    assert (refused.status_code, refused.json()["code"]) == (409, "WR938")
    assert server.client.post(f"{path}/plan", headers=server.auth("operate"), json={"batch": 0}).status_code == 403
    plan: Any = server.ask("POST", "/deployments/q@prod/restore/plan", "deploy", json={"batch": 0})
    assert (plan["kind"], plan["content"]["batch"]) == ("restore", 0)
    apply = f"/api/v1/plans/{plan['id']}/apply"
    assert server.client.post(apply, headers=server.auth("operate")).json()["code"] == "WR940"
    server.changing.approve(plan["id"], BOB)
    with looking(server):
        started = server.client.post(apply, headers=server.auth("operate"))
        assert started.status_code == 202, started.text
        operation = ended(server, server.changing.operation(started.json()["id"]))
    assert (operation.state, operation.kind) == ("succeeded", "restore"), operation
    assert Checkpoint(made.switch(OLD).folder).last_committed() == 0
