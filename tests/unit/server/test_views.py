"""The views of one job: what the API says of a folder that a run has left, without Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.recorded import START, batch, record_job
from tests.unit.cli.test_letters import BROKEN, LATE
from tests.unit.cli.test_why import LATENESS, MINUTE, _change, _kept
from tests.unit.server.conftest import Server
from windrow.jobs.identity import LETTERS
from windrow.server.api.live import _Seen
from windrow.spark.execution.dead_letters import to_table

JOB = "/deployments/q"


@pytest.fixture
def ran(server: Server, tmp_path: Path) -> Server:
    """A job that ran three batches: ACME's minute has closed and waits for late rows, BETA's is open, two rows were set aside."""
    import pyarrow.parquet as pq

    server.ask("POST", "/pipelines", "deploy", json={"name": "q", "sql": LATENESS, "start": False})
    made = tmp_path / "made"
    made.mkdir()
    folder = record_job(made, [batch(number) for number in range(3)], LATENESS)
    store = _kept(folder)
    _change(store, 0, [("ACME", 0, 3), ("BETA", 1, 2)], None, START + 5_000_000)
    _change(store, 1, [], START + 5_000_000, START + MINUTE)
    letters = Path(folder.path, LETTERS)
    letters.mkdir()
    pq.write_table(to_table([LATE, BROKEN]), letters / "batch-0000000003.parquet")
    shutil.copytree(made / ".windrow" / "q", server.root / "q" / "state")
    return server


def _list(found: object) -> list[Any]:
    assert isinstance(found, list)
    return found


def test_before_its_first_batch_every_view_is_empty(server: Server) -> None:
    server.ask("POST", "/pipelines", "deploy", json={"name": "q", "sql": LATENESS, "start": False})
    assert [server.ask("GET", f"{JOB}/{view}") for view in ("batches", "windows", "analysis", "state", "state/versions")] == [[]] * 5
    graph: Any = server.ask("GET", f"{JOB}/topology")
    assert [node["rows_in"] for node in graph["nodes"]] == [None, None, None]
    assert server.ask("GET", f"{JOB}/dead-letters")["total"] == 0  # type: ignore[index]


def test_the_rows_of_a_topology_add_up(ran: Server) -> None:
    graph: Any = ran.ask("GET", f"{JOB}/topology")
    read, grouped, write = graph["nodes"]
    for node in (read, grouped):
        assert node["rows_in"] == node["passed"] + node["filtered"] + sum(node["dead"].values()) + sum(node["dropped"].values())
    assert [(edge["from"], edge["to"], edge["rows"]) for edge in graph["edges"]] == [
        ("trades", "candles", grouped["rows_in"]),
        ("candles", "candles -> console", write["rows_in"]),
    ]
    assert [node["is_cause"] for node in graph["nodes"]] == [False, True, False]
    assert grouped["sql"].startswith("CREATE STREAM candles")
    assert LATENESS.splitlines()[grouped["line"] - 1].startswith("CREATE STREAM candles")
    assert graph["jobs"][0]["batches"] == 3


def test_batches_have_phases_that_add_up(ran: Server) -> None:
    (job,) = _list(ran.ask("GET", f"{JOB}/batches"))
    assert [one["batch_id"] for one in job["batches"]] == [0, 1, 2]
    assert all(sum(one["phases"].values()) == pytest.approx(one["seconds"]) for one in job["batches"])
    assert job["batches"][0]["dead_letters"] == {"WR701": 1, "WR705": 1}
    (later,) = _list(ran.ask("GET", f"{JOB}/batches?after=1"))
    assert [one["batch_id"] for one in later["batches"]] == [2]


def test_open_windows_with_what_each_partition_waits_for(ran: Server) -> None:
    (told,) = _list(ran.ask("GET", f"{JOB}/windows", "data"))
    assert (told["statement"], told["total"], told["rows"]) == ("candles", 2, 5)
    assert [(one["start"], one["end"], one["groups"], one["rows"]) for one in told["spans"]] == [
        (START, START + MINUTE, 1, 3),
        (START + MINUTE, START + 2 * MINUTE, 1, 2),
    ]
    assert [one["key"] for one in told["held"]] == [{"symbol": "ACME"}, {"symbol": "BETA"}]
    (source,) = told["sources"]
    assert [(one["partition"], one["reached"] - one["watermark"]) for one in source["partitions"]] == [(0, 5_000_000), (1, 5_000_000)]


def test_why_a_window_is_open_is_what_the_command_says(ran: Server) -> None:
    told: Any = ran.ask("GET", f"{JOB}/windows/why?statement=candles&key=BETA", "data")
    (window,) = told["windows"]
    assert window["is_held"]
    assert window["why"][0].startswith("open because the watermark of candles is at")
    answer = ran.client.get(f"/api/v1{JOB}/windows/why?statement=other", headers=ran.auth("data"))
    assert (answer.status_code, answer.json()["code"]) == (404, "WR922")
    assert "candles" in answer.json()["hint"]


def test_the_analysis_has_figures_text_and_what_late_rows_needed(ran: Server) -> None:
    (told,) = _list(ran.ask("GET", f"{JOB}/analysis"))
    assert told["bottleneck"] == "candles"
    assert "candles" in told["text"]
    assert told["late"][0]["points"][-1]["saved"] == told["late"][0]["total"] == 3


def test_state_by_version_says_what_can_be_gone_back_to(ran: Server) -> None:
    (job,) = _list(ran.ask("GET", f"{JOB}/state/versions"))
    assert [(one["batch_id"], one["can_restore"]) for one in job["versions"]] == [(1, False), (0, False)]
    (held,) = _list(ran.ask("GET", f"{JOB}/state?batch=0", "data"))
    assert (held["batch"], held["statements"][0]["total"]) == (0, 2)


def test_dead_letters_by_facet_with_their_text_and_the_reason(ran: Server) -> None:
    found: Any = ran.ask("GET", f"{JOB}/dead-letters", "data")
    assert found["total"] == 2
    assert {(one["value"], one["count"]) for one in found["facets"]["code"]} == {("WR705", 1), ("WR701", 1)}
    assert {one["value"] for one in found["facets"]["by"]} == {"trades", "candles"}
    only: Any = ran.ask("GET", f"{JOB}/dead-letters?code=wr701", "data")
    (letter,) = only["letters"]
    assert letter["raw"] == '{"symbol'
    one: Any = ran.ask("GET", f"{JOB}/dead-letters/{letter['id']}", "data")
    assert any("WR701" in line for line in one["why"])
    answer = ran.client.get(f"/api/v1{JOB}/dead-letters/9-9", headers=ran.auth("data"))
    assert (answer.status_code, answer.json()["code"]) == (404, "WR890")


def test_a_replay_is_asked_for_and_says_what_stays(ran: Server) -> None:
    told: Any = ran.ask("POST", f"{JOB}/dead-letters/replay", "operate data", json={})
    (job,) = told["jobs"]
    assert (job["replayed"], job["stay"]) == (1, 1)
    assert "gone" in job["reasons"][0]["why"]
    after: Any = ran.ask("GET", f"{JOB}/dead-letters?all=true", "data")
    assert {one["value"]: one["count"] for one in after["facets"]["replay"]} == {"waiting": 1, "set aside": 1}
    assert "replay" in [one.verb for one in ran.registry.audit()]
    answer = ran.client.post(f"/api/v1{JOB}/dead-letters/replay", headers=ran.auth("operate data"), json={"ids": ["9-9"]})
    assert answer.json()["code"] == "WR890"


def test_what_a_command_refuses_is_told_as_its_error(ran: Server) -> None:
    body = {"ids": ["9-9"], "dry_run": True}
    answer = ran.client.post(f"/api/v1{JOB}/dead-letters/replay", headers=ran.auth("operate data"), json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "WR890")
    assert "9-9" in answer.json()["title"]


def test_a_trial_that_takes_too_long_is_given_up(ran: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.server.letters._TRIAL_SECONDS", 0.01)
    answer = ran.client.post(f"/api/v1{JOB}/dead-letters/replay", headers=ran.auth("operate data"), json={"dry_run": True})
    assert (answer.status_code, answer.json()["code"], answer.json()["hint"]) == (422, "WR934", "choose fewer letters")
    assert "did not judge the letters" in answer.json()["title"]


def test_lineage_of_one_job_of_all_and_of_a_column(ran: Server) -> None:
    own: Any = ran.ask("GET", f"{JOB}/lineage")
    assert {one["name"] for one in own["datasets"]} >= {"trades", "candles"}
    whole: Any = ran.ask("GET", "/lineage")
    assert whole["edges"] == own["edges"]
    up: Any = ran.ask("GET", "/lineage?column=candles.high")
    assert {edge["input"]["column"] for edge in up["edges"]} >= {"price"}
    answer = ran.client.get("/api/v1/lineage?column=candles.nope", headers=ran.auth())
    assert answer.json()["code"] == "WR670"


def test_completions_know_the_streams_of_a_text_that_is_not_finished(server: Server) -> None:
    sql = LATENESS + "\nSELECT sy FROM trades GROUP BY"
    told: Any = server.ask("POST", "/complete", json={"sql": sql, "at": sql.index("SELECT sy FROM") + len("SELECT sy")})
    assert told["word"] == "sy"
    assert {"text": "symbol", "kind": "STRING"} in told["words"]
    relations: Any = server.ask("POST", "/complete", json={"sql": "SELECT * FROM tr", "at": 16})
    assert relations["words"] == []


def test_a_live_stream_begins_with_everything_and_goes_on_with_what_changed(ran: Server) -> None:
    seen = _Seen(ran.service, "q")
    snapshot = seen.snapshot()
    assert [one["name"] for one in snapshot["jobs"]] == ["q"]
    assert snapshot["jobs"][0]["rows_in"] is None
    assert snapshot["events"][-1]["type"] == "deploy.version"
    assert seen.delta() == {}
    status = {"jobs": [{"job": "q", "state": "running", "rows_in": 7, "batch_id": 3, "watermark": None, "fast_paths": [1]}]}
    ran.reconciler._of("q").status = status
    ran.registry.add_event("job.state", "q", "starting -> running")
    delta = seen.delta()
    assert [(one["rows_in"], one["batch_id"]) for one in delta["jobs"]] == [(7, 3)]
    assert delta["watched"] == [{key: value for key, value in status["jobs"][0].items() if key != "fast_paths"}]
    assert [one["message"] for one in delta["events"]] == ["starting -> running"]
    ran.registry.remove_pipeline("q")
    assert seen.delta()["gone"] == ["q"]
    assert json.dumps(snapshot)
