"""A broker of the tests' own, from the jars in the folder WINDROW_TEST_BROKER_JARS, and a Spark session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from windrow.java import ensure_java
from windrow.spark.session import make_session

JARS = os.environ.get("WINDROW_TEST_BROKER_JARS")
CONNECTOR_JARS = os.environ.get("WINDROW_TEST_CONNECTOR_JARS")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """What it holds survives ``kill`` and ``start``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, self._controller = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        java = str(ensure_java(install=False).path / "bin" / "java")
        self._command = [java, "-Xmx320m", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
        self._properties = folder / "server.properties"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(folder / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "auto.create.topics.enable": "false",
        }
        self._properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        made = ["kafka.tools.StorageTool", "format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qg", "--config", str(self._properties)]
        subprocess.run([*self._command, *made], check=True, capture_output=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address})

    def start(self) -> None:
        if self._process is not None:
            return
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen([*self._command, "kafka.Kafka", str(self._properties)], stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while True:
            try:
                AdminClient({"bootstrap.servers": self.address, "log_level": 0}).list_topics(timeout=1)
            except KafkaException:
                assert time.monotonic() < deadline, "the broker did not start"
            else:
                return

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def topic(self, name: str | None = None, partitions: int = 2, **settings: str) -> str:
        """A fresh topic; settings with ``_`` for the dots of their names."""
        chosen = name or f"t-{uuid.uuid4().hex[:10]}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        admin = self.admin
        admin.create_topics([NewTopic(chosen, partitions, 1, config=config)])[chosen].result(30)
        return chosen


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if JARS is None:
        pytest.skip("WINDROW_TEST_BROKER_JARS names no folder with the jars of a broker")
    made = Broker(tmp_path_factory.mktemp("kafka"))
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    jars = ",".join(map(str, Path(CONNECTOR_JARS).glob("*.jar"))) if CONNECTOR_JARS else ""
    session = make_session("local[2]", {"spark.jars": jars} if jars else {})
    yield session
    session.stop()
