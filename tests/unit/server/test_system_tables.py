"""SELECT over system tables: on a server, over state folders without one, and what it may not do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cli.test_why import LATENESS
from tests.unit.server.conftest import SQL, Server
from tests.unit.server.test_views import ran as ran
from windrow.errors import UsageError
from windrow.jobs.system_sql import run
from windrow.server.system_tables import TABLES, answer
from windrow.server.system_world import LocalWorld


def asked(server: Server, sql: str, scope: str = "read data") -> Any:
    return server.ask("POST", "/query", scope, json={"query": sql})


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_its_columns(ran: Server, name: str) -> None:
    told = asked(ran, f"SELECT * FROM system.{name}")
    assert told["columns"] == list(TABLES[name].columns)
    assert told["rows"] or name == "alerts"


def test_tables_are_joined_and_added_up(ran: Server) -> None:
    told = asked(
        ran,
        "SELECT j.name, COUNT(*) AS n, SUM(b.rows_in) AS rows_in FROM system.jobs j JOIN system.batches b ON j.name = b.name "
        "WHERE b.balanced GROUP BY j.name ORDER BY n DESC LIMIT 5;",
    )
    assert told["columns"] == ["name", "n", "rows_in"]
    ((name, n, rows_in),) = told["rows"]
    (in_all,) = asked(ran, "SELECT COUNT(*) AS n, SUM(rows_in) AS r FROM system.batches")["rows"]
    assert (name, [n, rows_in]) == ("q", in_all)
    assert asked(ran, "SELECT jobs.name FROM system.jobs WHERE jobs.observed <> 'running'")["rows"] == [["q"]]


def test_rows_that_came_in_need_their_scope(ran: Server) -> None:
    for name in ("dead_letters", "windows"):
        answered = ran.client.post("/api/v1/query", headers=ran.auth("read"), json={"query": f"SELECT * FROM system.{name}"})
        assert (answered.status_code, answered.json()["code"]) == (403, "WR929")
    assert asked(ran, "SELECT code, COUNT(*) AS n FROM system.dead_letters GROUP BY code")["rows"]
    assert any(one["target"] == "system.dead_letters" for one in ran.ask("GET", "/audit"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM system.job",
        "SELECT nothing FROM system.jobs",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM \"read_csv\"('/etc/passwd')",
        "SELECT * FROM system.jobs JOIN `READ_PARQUET` ('/etc/passwd') ON true",
        "SELECT * FROM generate_series(1, 1000000000000)",
        "DROP TABLE system_jobs",
        "SELECT 1; SELECT 2",
        "SHOW TABLES",
        "SELECT",
        ";",
    ],
)
def test_what_cannot_be_answered_is_told(server: Server, sql: str) -> None:
    answered = server.client.post("/api/v1/query", headers=server.auth("read data"), json={"query": sql})
    assert (answered.status_code, answered.json()["code"]) == (422, "WR952"), answered.text
    assert "root:" not in answered.text


def test_a_query_that_takes_too_long_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.jobs.system_sql._SECONDS", 0.01)
    answered = server.client.post("/api/v1/query", headers=server.auth("read"), json={"query": "SELECT * FROM system.jobs"})
    assert (answered.status_code, answered.json()["code"]) == (422, "WR952")


def test_an_answer_does_not_tell_what_a_secret_is(server: Server) -> None:
    server.deploy(sql=SQL, starts=False)
    assert asked(server, "SELECT 'hush-hush-1' AS guess FROM system.jobs", "read")["rows"] == [["hush-hush-1"]]
    server.registry.add_event("job.state", "orders", "cannot connect with hush-hush-1")
    rows = asked(server, "SELECT message FROM system.events WHERE message LIKE 'cannot%'", "read")["rows"]
    assert rows == [["cannot connect with ***"]]


def test_folders_of_state_answer_without_a_server(ran: Server) -> None:
    # As a run leaves it: with the text that made the state.
    (card,) = ran.root.glob("q/state/*/job.json")
    card.write_text(json.dumps({**json.loads(card.read_text()), "sql": LATENESS}))
    (ran.root / "q" / "state").rename(ran.root.parent / "orders")
    world = LocalWorld(ran.root.parent)
    found = answer("SELECT name, batch_id FROM system.batches ORDER BY batch_id", world)
    assert found.rows == (("orders", 0), ("orders", 1), ("orders", 2))
    assert answer("SELECT code FROM system.dead_letters", world).rows
    assert answer("SELECT out_column FROM system.lineage WHERE type = 'DIRECT'", world).rows
    assert answer("SELECT name FROM system.jobs", world).rows
    with pytest.raises(UsageError) as raised:
        answer("SELECT * FROM system.letters", world)
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("there are system.jobs") or "did you mean" in raised.value.hint


def test_more_rows_than_are_told_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.jobs.system_sql.MOST_ROWS", 3)
    found = run("SELECT * FROM system_t", {"t": ({"n": "number", "x": "real"}, [(n, float("nan")) for n in range(5)])})
    assert (len(found.rows), found.is_cut, found.rows[0]) == (3, True, (0, None))
