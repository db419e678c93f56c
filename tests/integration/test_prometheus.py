"""A real Prometheus scrapes a listening job, and a real Alertmanager is told when it fails and when that is over. Needs no Spark."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.serving.statuses import status
from windrow.observe.rules import rule_groups
from windrow.observe.status import FAILED, RUNNING
from windrow.serving import Listen, Serving

SERVERS = ("prometheus", "prometheus-alertmanager")
pytestmark = pytest.mark.skipif(any(shutil.which(name) is None for name in SERVERS), reason="Prometheus is not installed")
PATIENCE = 120.0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(*command: str, log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def _json(address: str) -> Any:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except OSError:
        return None


def _await(is_so: Callable[[], bool], what: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: {log.read_text()[-2000:]}"
        time.sleep(0.2)


def test_a_job_that_fails_is_told_and_resolved(tmp_path: Path) -> None:
    state = [RUNNING]
    serving = Serving(Listen("127.0.0.1", 0))
    serving.watch(lambda: [status(state=state[0])])
    alerts, queries = (f"127.0.0.1:{_free_port()}" for _ in range(2))
    target = {"static_configs": [{"targets": [serving.address.removeprefix("http://")]}]}
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "windrow", **target}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerts]}]}]},
    }
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rule_groups(["shop"])))
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump({"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}))

    def value(query: str) -> float | None:
        found = _json(f"http://{queries}/api/v1/query?query={query}")
        results = found["data"]["result"] if found else []
        return float(results[0]["value"][1]) if results else None

    def is_told() -> bool:
        found = _json(f"http://{alerts}/api/v2/alerts?active=true") or []
        return any(alert["labels"].get("alertname") == "WindrowJobFailed" for alert in found)

    log = tmp_path / "prometheus.log"
    with ExitStack() as stack:
        stack.callback(serving.close)
        manager = (f"--config.file={tmp_path}/alerts.yml", f"--storage.path={tmp_path}/am", f"--web.listen-address={alerts}")
        stack.enter_context(_running(SERVERS[1], *manager, "--cluster.listen-address=", log=tmp_path / "alerts.log"))
        given = (f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/tsdb", f"--web.listen-address={queries}")
        stack.enter_context(_running(SERVERS[0], *given, log=log))
        _await(lambda: value("windrow_rows_in_total") == 10, "the rows of the job are not scraped", log)
        assert not is_told()
        state[0] = FAILED
        _await(is_told, "nobody was told of the failure", log)
        state[0] = RUNNING
        _await(lambda: not is_told(), "the failure was not resolved", log)
