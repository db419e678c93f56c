"""Real servers, started once for all tests, and a Spark session with the jars to talk to them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from windrow.errors import UsageError
from windrow.jars import KAFKA_CONNECTOR, jar_files
from windrow.local.kafka import EVERYBODY, Entrance, LocalBroker
from windrow.local.postgres import PostgresServer, needed_programs, temporary_server
from windrow.spark.session import make_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


class Broker:
    """A broker of the tests' own, on a port that was free. What it holds survives ``kill`` and ``start``."""

    def __init__(self, folder: Path, entrance: Entrance = EVERYBODY) -> None:
        self._broker = LocalBroker(folder, 0, entrance)
        self._client = entrance.client

    @property
    def address(self) -> str:
        return self._broker.address

    def start(self) -> None:
        self._broker.start()

    def stop(self) -> None:
        self._broker.stop()

    def kill(self) -> None:
        self._broker.kill()

    def topic(self, name: str | None = None, partitions: int = 2, **settings: str) -> str:
        """A fresh topic; settings with ``_`` for the dots of their names."""
        chosen = name or f"t-{uuid.uuid4().hex[:10]}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        admin = self.admin
        admin.create_topics([NewTopic(chosen, partitions, 1, config=config)])[chosen].result(30)
        return chosen

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.address, "log_level": 0, **self._client})


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("kafka"))
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    jars = ",".join(map(str, jar_files(KAFKA_CONNECTOR)))
    session = make_session("local[2]", {"spark.jars": jars})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    try:
        needed_programs()
    except UsageError as error:
        pytest.skip(str(error))
    with temporary_server("postgres") as server:
        yield server
