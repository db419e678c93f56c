"""The server over real sockets: what it answers, whom it refuses, and that it ends."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.serving.statuses import status
from windrow.errors import UsageError
from windrow.model.notes import MetricType
from windrow.observe.row_metrics import MetricTotal
from windrow.observe.status import JobStatus, TableLoad
from windrow.serving import Listen, Serving, parse_listen

TOKEN = "0123456789abcdef0123"
ANY = Listen("127.0.0.1", 0)


@contextmanager
def served(listen: Listen = ANY, statuses: Sequence[JobStatus] = ()) -> Iterator[Serving]:
    serving = Serving(listen)
    serving.watch(lambda: statuses)
    try:
        yield serving
    finally:
        serving.close()


def ask(serving: Serving, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, http.client.HTTPResponse]:
    host, _, port = serving.address.removeprefix("http://").rpartition(":")
    connection = http.client.HTTPConnection("127.0.0.1" if host == "0.0.0.0" else host, int(port), timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    is_json = (response.getheader("Content-Type") or "").startswith("application/json")
    return response.status, json.loads(text) if is_json and text else text, response


def test_every_path_answers_before_there_is_a_job_and_while_one_runs() -> None:
    paths = ("/", "/metrics", "/status", "/health/live", "/health/tables", "/health/progress", "/health/connections", "/health/metrics")
    for statuses in ([], [status()]):
        with served(statuses=statuses) as serving:
            assert [ask(serving, path)[0] for path in paths] == [200] * len(paths)


def test_health_says_by_its_status_whether_all_is_well() -> None:
    with served(statuses=[status()]) as serving:
        assert ask(serving, "/health/startup")[0] == 200
        code, found, _ = ask(serving, "/health/ready")
        assert code == 503
        assert "shop: table rates is loading: 50 of about 100 rows" in found["reasons"]


def test_metrics_come_in_the_form_that_is_asked_for() -> None:
    with served(statuses=[status()]) as serving:
        _, text, plain = ask(serving, "/metrics")
        assert 'windrow_rows_in_total{job_name="shop",source="orders"} 10.0' in text
        assert (plain.getheader("Content-Type") or "").startswith("text/plain")
        _, text, other = ask(serving, "/metrics", Accept="application/openmetrics-text;version=1.0.0")
        assert text.endswith("# EOF\n")
        assert (other.getheader("Content-Type") or "").startswith("application/openmetrics-text")


def test_metrics_of_annotations_are_told_as_json_too() -> None:
    told = {
        "dear": MetricTotal(MetricType.COUNTER, ("symbol",), (), {("ACME",): (3.0,)}, (2.0,)),
        "price": MetricTotal(MetricType.HISTOGRAM, (), (1.0, 5.0), {(): (7.5, 3.0, 1.0, 2.0)}),
        "size": MetricTotal(MetricType.SUMMARY, (), (), {(): (7.5, 3.0)}),
    }
    with served(statuses=[status(metrics=told)]) as serving:
        found = ask(serving, "/health/metrics")[1]["metrics"]
    assert found["dear_total"] == [
        {"labels": {"job_name": "shop", "symbol": "ACME"}, "value": 3.0},
        {"labels": {"job_name": "shop", "overflow": "true"}, "value": 2.0},
    ]
    job = {"job_name": "shop"}
    assert found["price"] == [{"labels": job, "value": {"count": 3.0, "sum": 7.5, "buckets": {"1.0": 1.0, "5.0": 2.0, "+Inf": 3.0}}}]
    assert found["size"] == [{"labels": job, "value": {"count": 3.0, "sum": 7.5}}]
    assert found["windrow_batches_total"][0]["value"] == 5


def test_a_table_is_shown_and_waited_for() -> None:
    loads = [TableLoad("rates", 50, 100, 1.0)]
    serving = Serving(ANY)
    serving.watch(lambda: [status(tables=tuple(loads))])
    try:
        assert ask(serving, "/health/table/rates")[1]["state"] == "loading"
        assert ask(serving, "/health/table/rates/wait?timeout=0", "POST")[0] == 504
        found: list[tuple[int, Any, Any]] = []
        waiting = threading.Thread(target=lambda: found.append(ask(serving, "/health/table/RATES/wait?timeout=60", "POST")))
        waiting.start()
        loads[0] = TableLoad("rates", 100, 100, 2.0, is_done=True)
        waiting.join(60)
        assert found[0][:2] == (200, {**found[0][1], "state": "ready", "rows": 100})
        assert ask(serving, "/health/table/rates/wait")[0] == 405
        assert ask(serving, "/health/table/other")[0] == 404
    finally:
        serving.close()


def test_what_is_not_there_says_what_is() -> None:
    with served() as serving:
        code, found, _ = ask(serving, "/metric")
        assert (code, "/metrics" in found["hint"]) == (404, True)
        assert ask(serving, "/metrics", "POST")[2].getheader("Allow") == "GET"


def test_a_page_from_elsewhere_that_reaches_loopback_is_refused() -> None:
    with served(statuses=[status()]) as serving:
        code, found, _ = ask(serving, "/status", Host="evil.example:9464")
        assert (code, "shop" in str(found)) == (403, False)
        assert ask(serving, "/status", Host="localhost:1")[0] == 200


def test_a_token_is_asked_of_everybody() -> None:
    with served(parse_listen("0.0.0.0:0", TOKEN), [status()]) as serving:
        assert ask(serving, "/metrics")[0] == 401
        assert ask(serving, "/metrics", Authorization="Bearer wrong")[0] == 401
        assert ask(serving, "/metrics", Authorization=f"Basic {TOKEN}")[0] == 401
        assert ask(serving, "/metrics", Authorization=f"Bearer {TOKEN}", Host="job.example")[0] == 200


def test_a_port_in_use_is_told_at_once() -> None:
    with served() as serving:
        with pytest.raises(UsageError) as refused:
            Serving(parse_listen(serving.address.removeprefix("http://")))
        assert refused.value.code == "WR632"


def test_an_address_of_another_machine_cannot_be_opened() -> None:
    with pytest.raises(UsageError) as refused:
        Serving(Listen("192.0.2.1", 9464, token=TOKEN))
    assert refused.value.code == "WR631"


def test_a_socket_belongs_to_its_owner_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "job.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with served(Listen(path=str(path)), [status()]):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with pytest.raises(UsageError) as refused:
            Serving(Listen(path=str(path)))
        assert refused.value.code == "WR632"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(path))
            client.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
    assert not path.exists()


def test_a_client_that_waits_does_not_keep_the_server_from_ending() -> None:
    asked = threading.Event()

    def statuses() -> list[JobStatus]:
        asked.set()
        return [status()]

    with served() as serving:
        serving.watch(statuses)
        found: list[int] = []
        waiting = threading.Thread(target=lambda: found.append(ask(serving, "/health/table/rates/wait?timeout=500", "POST")[0]))
        waiting.start()
        assert asked.wait(60)
        serving.close()
        waiting.join(60)
        assert found == [504]
