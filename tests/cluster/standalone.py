"""A Spark standalone cluster on hosts of ``tests.cluster.namespaces``: a master and its workers, each on a machine of its own."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.namespaces import SPARK_HOME, Host, Network, is_listening

PORT, PAGE = 7077, 8080
_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"
_START_SECONDS = 90.0
# Small daemons, and signs of life often enough that a test does not wait a minute for the loss of a worker.
_CLEAN = "-Dspark.worker.cleanup.enabled=true -Dspark.worker.cleanup.interval=20 -Dspark.worker.cleanup.appDataTtl=20"
_DAEMON = f"-Dspark.worker.timeout=6 {_CLEAN} -XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass
class Standalone:
    network: Network
    cores: int = 1
    memory: str = "1g"
    master: Host = field(init=False)
    workers: dict[str, Host] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.master = self.network.host("master")

    @property
    def url(self) -> str:
        return f"spark://{self.master.address}:{PORT}"

    def start(self, workers: int) -> None:
        self.start_master()
        for number in range(1, workers + 1):
            self.add_worker(f"worker{number}")
        self.await_workers(workers)

    def start_master(self) -> None:
        """Also again: what it knows of applications and workers is kept on its disk."""
        options = f"{_DAEMON} -Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory=/tmp/recovery"
        words = [f"{SPARK_HOME}/bin/spark-class", _MASTER, "--host", self.master.address, "--port", str(PORT), "--webui-port", str(PAGE)]
        self.master.start(words, self._variables(self.master, options), self._log(self.master))
        _await(lambda: is_listening(self.master.address, PORT), f"the master did not start: {self._log(self.master)}")

    def add_worker(self, name: str) -> Host:
        host = self.workers.get(name) or self.network.host(name)
        self.workers[name] = host
        self.start_worker(host)
        return host

    def start_worker(self, host: Host) -> None:
        words = [f"{SPARK_HOME}/bin/spark-class", _WORKER, "--host", host.address, "--cores", str(self.cores), "--memory", self.memory]
        host.start([*words, "--work-dir", "/tmp/work", self.url], self._variables(host, _DAEMON), self._log(host))

    def revive(self, name: str) -> None:
        """A worker that was killed, or whose machine was switched off, comes back at its address."""
        host = self.workers[name]
        if host.holder.poll() is not None:
            host = self.workers[name] = self.network.host(name, address=host.address)
        if not host.processes(_WORKER):
            self.start_worker(host)

    def await_workers(self, number: int) -> None:
        _await(lambda: len(self.alive()) == number, f"{number} workers did not come, but {self.alive()}")

    def alive(self) -> list[str]:
        """The addresses of the workers that the master takes for alive."""
        told = self.told()
        return sorted(worker["host"] for worker in told.get("workers", ()) if worker["state"] == "ALIVE")

    def told(self) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(f"http://{self.master.address}:{PAGE}/json/", timeout=5) as answer:
                told: dict[str, Any] = json.load(answer)
                return told
        except (OSError, ValueError):
            return {}

    def kill_master(self) -> None:
        assert self.master.signal(_MASTER, signal.SIGKILL)
        _await(lambda: not self.master.processes(_MASTER), "the master does not end")

    def executors(self) -> dict[str, list[int]]:
        """The executors' processes by the name of their worker."""
        return {name: list(host.processes(EXECUTOR)) for name, host in self.workers.items() if host.holder.poll() is None}

    def kill_worker(self, name: str) -> None:
        """The daemon and, with it, its executors: it takes them down as it would on a machine that lost its power."""
        self.workers[name].signal(rf"{_WORKER}|{EXECUTOR}|pyspark", signal.SIGKILL)

    def _variables(self, host: Host, options: str) -> dict[str, str]:
        return {
            "SPARK_HOME": SPARK_HOME, "SPARK_LOCAL_IP": host.address, "SPARK_DAEMON_MEMORY": "192m", "SPARK_DAEMON_JAVA_OPTS": options,
            "SPARK_LOCAL_DIRS": "/tmp/local",
        }  # fmt: skip

    def _log(self, host: Host) -> Any:
        return host.folder / "log" / "spark.log"


def _await(is_so: Any, what: str, seconds: float = _START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
