"""A real Prometheus that scrapes jobs, and a real Alertmanager that it tells of alerts: started for one test, in its folder."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SERVERS = ("prometheus", "prometheus-alertmanager", "promtool")
IS_INSTALLED = all(shutil.which(name) is not None for name in SERVERS)
PATIENCE = 240.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(*command: str, log: Path) -> Iterator[None]:
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def json_of(address: str) -> Any:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except OSError:
        return None


def await_that(is_so: Callable[[], bool], what: Callable[[], object], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what()}: {log.read_text()[-2000:]}"
        time.sleep(0.2)


@dataclass(frozen=True)
class Watched:
    """Where Prometheus and Alertmanager answer, and what they write."""

    queries: str
    alerts: str
    log: Path

    def value(self, query: str) -> float | None:
        found = json_of(f"http://{self.queries}/api/v1/query?query={query}")
        results = found["data"]["result"] if found else []
        return float(results[0]["value"][1]) if results else None

    def told(self) -> set[tuple[str, str, str]]:
        """The alerts that are active: what they are called, of which job, how bad it is."""
        found = json_of(f"http://{self.alerts}/api/v2/alerts?active=true") or []
        return {(one["labels"]["alertname"], one["labels"]["job_name"], one["labels"]["severity"]) for one in found}


@contextmanager
def watching(target: str, rules: Mapping[str, Any], folder: Path, past: str = "") -> Iterator[Watched]:
    """``target`` is scraped each second, and ``rules`` are judged as often. ``past``, as OpenMetrics, was there before."""
    alerts, queries = (f"127.0.0.1:{free_port()}" for _ in range(2))
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "windrow", "static_configs": [{"targets": [target]}]}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerts]}]}]},
    }
    (folder / "rules.yml").write_text(yaml.safe_dump(rules))
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (folder / "alerts.yml").write_text(yaml.safe_dump({"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}))
    checked = promtool("check", "config", str(folder / "prometheus.yml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    if past:
        (folder / "past.txt").write_text(past)
        made = promtool("tsdb", "create-blocks-from", "openmetrics", str(folder / "past.txt"), str(folder / "tsdb"))
        assert made.returncode == 0, made.stdout + made.stderr
    log = folder / "prometheus.log"
    with ExitStack() as stack:
        manager = (f"--config.file={folder}/alerts.yml", f"--storage.path={folder}/am", f"--web.listen-address={alerts}")
        stack.enter_context(running(SERVERS[1], *manager, "--cluster.listen-address=", log=folder / "alerts.log"))
        given = (f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address={queries}")
        stack.enter_context(running(SERVERS[0], *given, log=log))
        yield Watched(queries, alerts, log)


def promtool(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], input=given, capture_output=True, text=True, check=False)
