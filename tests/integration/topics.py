"""Records into topics, and jobs over them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from windrow.compiler import compile_sql
from windrow.connectors.memory.runtime import SINKS
from windrow.jobs import Jobs, RunOptions, start
from windrow.jobs.options import Mode


@dataclass(frozen=True)
class Record:
    """``value``: bytes and None as they are, anything else as JSON."""

    value: Any
    partition: int = 0
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 0

    @property
    def data(self) -> bytes | None:
        return self.value if self.value is None or isinstance(self.value, bytes) else json.dumps(self.value).encode()


def send(broker: Broker, topic: str, records: Iterable[Record]) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0})
    for one in records:
        producer.produce(
            topic, value=one.data, key=one.key, partition=one.partition, headers=list(one.headers), timestamp=one.timestamp or 0
        )
    assert producer.flush(30) == 0


def options(broker: Broker, topic: str, **more: str) -> str:
    """The WITH list of a source; ``__`` stands for a dot."""
    given = {"connector": "kafka", "topic": topic, "bootstrap.servers": broker.address}
    given.update({key.replace("__", "."): value for key, value in more.items()})
    return ", ".join(f"'{key}' = '{value}'" for key, value in given.items() if value)


@dataclass
class Runner:
    """Runs SQL whose last statement writes to ``out`` in memory. The same ``state`` goes on where it was."""

    spark: SparkSession
    folder: Path

    def start(self, sql: str, mode: Mode = "until_end", state: str = "state", settings: Mapping[str, str] | None = None) -> Jobs:
        SINKS.pop("out", None)
        return start(compile_sql(sql, "test.sql", {}), RunOptions(mode, self.folder / state, settings=settings or {}), self.spark)

    def rows(self, sql: str, mode: Mode = "until_end", state: str = "state") -> list[dict[str, Any]]:
        jobs = self.start(sql, mode, state)
        try:
            assert jobs.await_end(90)
        finally:
            jobs.stop()
        assert jobs.status()[0].ledger.is_balanced
        return SINKS["out"].rows()

    def dead_letters(self, state: str = "state") -> list[dict[str, Any]]:
        files = sorted((self.folder / state).rglob("dead_letters/*.parquet"))
        return [row for file in files for row in pq.read_table(file).to_pylist()]


def until(condition: Callable[[], bool], seconds: float = 60.0, seen: Callable[[], object] = lambda: None) -> None:
    """``seen`` tells what it came to instead."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come to that in time: {seen()}"
        time.sleep(0.1)


def only(rows: Iterable[Mapping[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]
