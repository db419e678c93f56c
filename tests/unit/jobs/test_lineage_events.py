"""Events of a run for OpenLineage: what is in them, when they are sent, and that a consumer that is away stops nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import windrow
from tests.openlineage_classes import read_back
from windrow.errors import UsageError
from windrow.jobs.identity import Origin
from windrow.jobs.lineage_events import MOST_WAITING, RETRY_SECONDS, EventRules, LineageEvents, lineage_events
from windrow.jobs.lineage_senders import sender_to
from windrow.jobs.options import RunOptions
from windrow.lineage.openlineage import JobText, RunState, job_events, lineage_of_job
from windrow.observe.ledger import Ledger
from windrow.observe.status import ENDED, FAILED, RUNNING, STOPPED, JobStatus

SQL = """
-- @owner: team-a
-- @description: totals by minute
CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in/t', 'event.time.field' = 'ts');
CREATE STREAM minutes AS SELECT k, SUM(v) AS total FROM t WHERE v > 0 GROUP BY k WINDOW TUMBLING(1m)
  WITH ('connector' = 'kafka', 'topic' = 'minutes', 'bootstrap.servers' = 'b:9092');
"""


class Job:
    """A job that counts, with a clock of its own."""

    def __init__(self, rules: EventRules | None = None) -> None:
        self.at = 1_000_000.0
        self.status = JobStatus("minutes", RUNNING)
        self.got: list[Mapping[str, Any]] = []
        self.fault: OSError | None = None
        self.count(10, 1)
        job = windrow.compile(SQL).plan.jobs[0]
        text = JobText("minutes", SQL, owner="team-a", description="totals by minute")
        run_id = "0190a4b1-0000-4000-8000-000000000001"
        self.events = LineageEvents(
            text,
            lineage_of_job(job, "q.sql"),
            run_id,
            3,
            lambda: self.status,
            self.send,
            rules or EventRules(),
            lambda: self.at,
            is_threaded=False,
        )

    def count(self, rows_in: int, emitted: int) -> None:
        ledger = Ledger.from_json(self.status.ledger.to_json())
        ledger.source("t").rows_in += rows_in
        ledger.statement("minutes").emitted += emitted
        self.status = replace(self.status, ledger=ledger)

    def send(self, event: Mapping[str, Any]) -> None:
        if self.fault is not None:
            raise self.fault
        self.got.append(event)

    def goes_on(self, seconds: float) -> None:
        self.at += seconds
        self.events.work()


def types_of(job: Job) -> list[str]:
    return [event["eventType"] for event in job.got]


def test_every_event_has_all_datasets_and_fits_the_published_classes() -> None:
    job = Job()
    job.events.begin()
    job.goes_on(0)
    job.count(100, 7)
    job.goes_on(300)
    job.status = replace(job.status, state=ENDED)
    job.events.close()
    assert types_of(job) == ["START", "RUNNING", "COMPLETE"]
    for told in job.got:
        event = read_back(json.loads(json.dumps(told)))
        assert [(one.namespace, one.name) for one in event.inputs] == [("file", "in/t")]
        assert [(one.namespace, one.name) for one in event.outputs] == [("kafka://b:9092", "minutes")]
        facets = event.outputs[0].facets
        assert {one.field for one in facets["columnLineage"].fields["total"].inputFields} == {"v"}
        assert [one.name for one in facets["schema"].fields] == ["k", "total"]
        assert event.job.facets["jobType"].processingType == "STREAMING"
        assert event.job.facets["ownership"].owners[0].name == "team-a"
        assert event.job.facets["sql"].query == SQL
    assert [one["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] for one in job.got] == [0, 100, 100]
    assert [one["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] for one in job.got] == [0, 7, 7]


def test_events_of_jobs_fit_the_published_classes_too() -> None:
    (told,) = job_events(windrow.compile(SQL).plan, "q.sql", SQL, "2026-01-01T00:00:00Z")
    assert read_back(told).job.facets["documentation"].description == "totals by minute"


def test_nothing_is_told_before_it_is_due() -> None:
    job = Job()
    job.events.begin()
    job.goes_on(299)
    job.goes_on(0.5)
    assert types_of(job) == ["START"]
    job.goes_on(1)
    job.goes_on(1)
    assert types_of(job) == ["START", "RUNNING"]


def test_how_a_run_ended() -> None:
    for state, expected in ((STOPPED, "ABORT"), (FAILED, "FAIL"), (ENDED, "COMPLETE")):
        job = Job()
        job.events.begin()
        job.status = replace(job.status, state=state, error="[WR801] no more" if state == FAILED else None)
        job.events.close()
        job.events.close()
        assert types_of(job) == ["START", expected]
        read_back(job.got[-1])
        found = job.got[-1]["run"]["facets"].get("errorMessage", {}).get("message")
        assert found == ("[WR801] no more" if state == FAILED else None)


def test_a_job_that_never_began_tells_nothing() -> None:
    job = Job()
    job.events.close()
    assert job.got == []


def test_a_consumer_that_only_knows_complete() -> None:
    job = Job(EventRules(60, RunState.COMPLETE))
    job.events.begin()
    job.goes_on(60)
    assert types_of(job) == ["START", "COMPLETE"]


def test_a_consumer_that_is_away_gets_the_first_and_the_last_events_later() -> None:
    job = Job(EventRules(RETRY_SECONDS))
    job.fault = OSError("connection refused")
    job.events.begin()
    for _ in range(3 * MOST_WAITING):
        job.goes_on(RETRY_SECONDS)
    assert job.got == []
    job.fault = None
    job.status = replace(job.status, state=STOPPED)
    job.events.close()
    assert types_of(job) == ["START", *["RUNNING"] * (MOST_WAITING - 2), "ABORT"]


def test_a_fault_in_an_event_does_not_reach_the_job() -> None:
    job = Job()
    job.events.begin()
    job.events.send = lambda _event: 1 / 0  # type: ignore[assignment]
    job.goes_on(300)
    job.events.close()


@pytest.fixture
def consumer() -> Iterator[tuple[str, list[tuple[str, str | None, dict[str, Any]]]]]:
    got: list[tuple[str, str | None, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            got.append((self.path, self.headers["authorization"], body))
            self.send_response(503 if body.get("broken") else 201)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", got
    server.shutdown()
    thread.join()
    server.server_close()


def test_events_over_http(consumer: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, got = consumer
    sender_to(address)({"a": 1})
    monkeypatch.setenv("WINDROW_LINEAGE_TOKEN", "secret")
    sender_to(f"{address}/own/path")({"a": 2})
    assert got == [("/api/v1/lineage", None, {"a": 1}), ("/own/path", "Bearer secret", {"a": 2})]
    with pytest.raises(OSError, match="answers 503"):
        sender_to(address)({"broken": True})
    with pytest.raises(OSError, match="refused"):
        sender_to("http://127.0.0.1:1")({"a": 1})


def test_events_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.jsonl"
    for url in (str(path), f"file://{path}"):
        sender_to(url)({"at": url})
    assert [json.loads(line)["at"] for line in path.read_text().splitlines()] == [str(path), f"file://{path}"]


def test_what_is_no_address_is_refused_at_the_start(tmp_path: Path) -> None:
    job = windrow.compile(SQL).plan.jobs[0]

    def made(url: str) -> LineageEvents | None:
        return lineage_events(
            job, "id", "run", 1, Origin(), RunOptions(state=tmp_path, settings={"lineage.url": url}), lambda: JobStatus("", "")
        )

    for url in ("ftp://a/b", "http://", "kafka://b:9092/topic"):
        with pytest.raises(UsageError, match="neither an address nor a file"):
            made(url)
    assert made(str(tmp_path / "events.jsonl")) is not None
    assert lineage_events(job, "id", "run", 1, Origin(), RunOptions(), lambda: JobStatus("", "")) is None
