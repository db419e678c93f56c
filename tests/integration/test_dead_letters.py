"""Dead letters in a topic: each once, with the bytes it came with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

import windrow
from tests.integration.conftest import Broker
from windrow.errors import UsageError
from windrow.jobs.letter_topic import LetterTopic
from windrow.observe.ledger import Ledger

SQL = """
CREATE STREAM orders (id BIGINT, at TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'at'
);
CREATE STREAM all_orders AS SELECT id FROM orders WITH ('connector' = 'files', 'path' = '{folder}/out');
"""
GOOD = b'{"id": 1, "at": "2026-03-02T09:00:00Z"}\n'


def run(spark: SparkSession, folder: Path, settings: dict[str, str]) -> Ledger:
    jobs = windrow.run(SQL.format(folder=folder), spark=spark, state=folder / "state", mode="once", settings=settings)
    jobs.await_end(120)
    return jobs.status()[0].ledger


def letters(broker: Broker, topic: str) -> list[tuple[bytes | None, dict[str, str]]]:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "tests", "isolation.level": "read_committed"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = consumer.consume(10, 5.0)
        headers: list[Any] = [message.headers() or [] for message in found]
        told = [{name: value.decode() for name, value in own} for own in headers]
        return [(message.value(), own) for message, own in zip(found, told, strict=True)]
    finally:
        consumer.close()


def test_letters_are_in_the_topic_once_with_their_bytes(
    broker: Broker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_bytes(GOOD + b"oops\n")
    settings = {"dead_letters.topic": broker.topic(partitions=1), "dead_letters.bootstrap.servers": broker.address}
    write = LetterTopic.write

    def write_and_die(self: LetterTopic, *args: object) -> None:
        write(self, *args)  # type: ignore[arg-type]  # handed on as they are
        raise UsageError("WR999", "died between the topic and the state")

    with monkeypatch.context() as patch:
        patch.setattr(LetterTopic, "write", write_and_die)
        with pytest.raises(UsageError):
            run(spark, tmp_path, settings)
    ledger = run(spark, tmp_path, settings)
    assert ledger.dead_letters == {"WR701": 1}
    (found,) = letters(broker, settings["dead_letters.topic"])
    value, headers = found
    assert value == b"oops"
    assert (headers["windrow-code"], headers["windrow-source"], headers["windrow-offset"]) == ("WR701", "orders", "1")
    assert (headers["windrow-id"], headers["windrow-attempt"]) == ("0-0", "1")


def test_a_topic_without_a_broker(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_bytes(GOOD)
    with pytest.raises(UsageError) as caught:
        run(spark, tmp_path, {"dead_letters.topic": "dead"})
    assert caught.value.code == "WR899"
