"""What readers of a topic see."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition


@dataclass(frozen=True)
class Seen:
    """One record as a reader gets it."""

    key: str | None
    value: Any
    headers: dict[str, str]
    partition: int
    time: int

    @staticmethod
    def of(message: Message, *, as_json: bool = True) -> Seen:
        key, value = message.key(), message.value()
        headers: Any = message.headers() or []
        return Seen(
            None if key is None else key.decode(),
            json.loads(value) if as_json and value is not None else value,
            {name: bytes(text or b"").decode() for name, text in headers},
            message.partition() or 0,
            message.timestamp()[1],
        )


def read_topic(address: str, topic: str, isolation: str = "read_committed", seconds: float = 40.0, *, as_json: bool = True) -> list[Seen]:
    """All that is there, partition by partition. Waits while a transaction is open."""
    settings = {
        "bootstrap.servers": address,
        "group.id": "tests",
        "enable.auto.commit": False,
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    consumer = Consumer(settings)
    ends = Consumer({**settings, "isolation.level": "read_uncommitted"})
    try:
        numbers = list(ends.list_topics(topic, timeout=10).topics[topic].partitions)
        left = {number: ends.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1] for number in numbers}
        consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
        found: list[Seen] = []
        deadline = time.monotonic() + seconds
        while left:
            assert time.monotonic() < deadline, f"partitions {sorted(left)} of {topic} have no end"
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is None:
                    found.append(Seen.of(message, as_json=as_json))
                elif error.code() == KafkaError._PARTITION_EOF and (message.offset() or 0) >= left.get(message.partition() or 0, 0):
                    left.pop(message.partition() or 0, None)
        return sorted(found, key=lambda seen: seen.partition)
    finally:
        consumer.close()
        ends.close()
