"""Kafka and PostgreSQL pass the contracts that connectors of others must pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.integration.conftest import Broker
from tests.integration.topics import Record, send
from tests.integration.written import read_topic
from windrow.local.postgres import PostgresServer
from windrow.testing.contracts import SharedSinkContract, StreamSourceContract, TableSourceContract


class _Kafka:
    """A topic for each test, named as its folder."""

    connector = "kafka"

    @pytest.fixture(autouse=True)
    def _with_broker(self, broker: Broker) -> None:
        self.broker = broker

    def topic(self, folder: Path) -> str:
        return f"contract-{type(self).__name__}-{folder.name}"[:200]

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"topic": self.topic(folder), "bootstrap.servers": self.broker.address}


class TestKafkaSink(_Kafka, SharedSinkContract):
    def options(self, folder: Path) -> Mapping[str, str]:
        return {**super().options(folder), "topic.create": "true"}

    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        return [{"k": seen.value.get("k"), "v": seen.value.get("v")} for seen in read_topic(self.broker.address, self.topic(folder))]


class TestKafkaStream(_Kafka, StreamSourceContract):
    def append(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        topic = self.topic(folder)
        if topic not in self.broker.admin.list_topics(timeout=10).topics:
            self.broker.topic(topic, partitions=2)
        send(self.broker, topic, [Record(dict(row), partition=(row["v"] or 0) % 2) for row in rows])


class _Postgres:
    """A table for each test, named as its folder."""

    connector = "postgres"

    @pytest.fixture(autouse=True)
    def _with_server(self, postgres: PostgresServer) -> None:
        self.server = postgres

    def named(self, folder: Path) -> str:
        return f"{type(self).__name__}_{folder.name}".lower()[-60:]

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"url": self.server.dsn, "table": self.named(folder)}


class TestPostgresSink(_Postgres, SharedSinkContract):
    def options(self, folder: Path) -> Mapping[str, str]:
        return {**super().options(folder), "table.create": "true"}

    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        with psycopg.connect(self.server.dsn) as connection:
            return [{"k": k, "v": v} for k, v in connection.execute(f'SELECT k, v FROM "{self.named(folder)}"').fetchall()]


class TestPostgresTable(_Postgres, TableSourceContract):
    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with psycopg.connect(self.server.dsn) as connection:
            connection.execute(f'DROP TABLE IF EXISTS "{self.named(folder)}"')
            connection.execute(f'CREATE TABLE "{self.named(folder)}" (k TEXT, v BIGINT)')
            for row in rows:
                connection.execute(f'INSERT INTO "{self.named(folder)}" VALUES (%s, %s)', (row["k"], row["v"]))
