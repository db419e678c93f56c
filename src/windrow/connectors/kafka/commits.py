"""What was written: the last batch of each sink, in a compacted topic of one partition, committed together with the rows.

The record of a sink is part of the transaction that writes its batch, so it is there exactly if the batch is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient

from windrow.connectors.kafka import topics

# Small segments are compacted early, and a start reads the whole topic.
_CONFIG = {"cleanup.policy": "compact", "segment.bytes": "16777216", "segment.ms": "3600000", "min.cleanable.dirty.ratio": "0.1"}
# Seconds: until it is asked again whether a transaction has ended, and for more records that are there.
_POLL, _WAIT = 0.2, 0.02
NEVER = -1


@dataclass(frozen=True)
class Commit:
    """``writer`` is one run of one sink: by it a run finds out that another came after it.

    ``limit`` is the size beyond which rows of the batch were left out, None where all were written.
    """

    batch_id: int
    writer: str | None
    limit: int | None = None

    def to_json(self) -> bytes:
        return json.dumps({"batch": self.batch_id, "writer": self.writer, "limit": self.limit}).encode()

    @staticmethod
    def from_json(data: bytes) -> Commit:
        body = json.loads(data)
        return Commit(int(body["batch"]), body.get("writer"), body.get("limit"))


NOTHING = Commit(NEVER, None)


def commit_key(job: str, statement: str) -> bytes:
    return f"{job}/{statement}".encode()


def ensure_topic(admin: AdminClient, topic: str, seconds: float, replication: int | None) -> None:
    if not topics.exists(admin, topic, seconds):
        topics.create(admin, topic, seconds, 1, replication or topics.usual_replication(admin, seconds), _CONFIG)


def read_commit(client: Mapping[str, Any], topic: str, key: bytes, seconds: float, timeout: float) -> Commit:
    """The newest record of a key among those committed.

    Another sink that died with its record written and not yet committed hides all that came after it from readers, until it starts
    again or the broker gives it up. Only if there is a record of ours behind it must that be waited for.
    """
    deadline = time.monotonic() + timeout
    while True:
        end = _end(client, topic, seconds, "read_uncommitted")
        stable = _end(client, topic, seconds, "read_committed")
        found = NOTHING
        for message in _records(client, topic, "read_committed", OFFSET_BEGINNING, stable, seconds):
            value = message.value()
            if message.key() == key and value:
                found = Commit.from_json(value)
        hidden = _records(client, topic, "read_uncommitted", stable, end, seconds) if stable < end else ()
        if not any(message.key() == key for message in hidden):
            return found
        if time.monotonic() > deadline:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"a transaction hangs in {topic}"))
        time.sleep(_POLL)


def _records(client: Mapping[str, Any], topic: str, isolation: str, start: int, end: int, seconds: float) -> Iterator[Message]:
    """Every record from one offset to another."""
    consumer = _consumer(client, isolation)
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for message in consumer.consume(1000, _WAIT):
                deadline = time.monotonic() + seconds
                error, offset = message.error(), message.offset() or 0
                if error is None and offset < end:
                    yield message
                elif error is None or (error.code() == KafkaError._PARTITION_EOF and offset >= end):
                    return
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} could not be read to its end"))
    finally:
        consumer.close()


def _end(client: Mapping[str, Any], topic: str, seconds: float, isolation: str) -> int:
    consumer = _consumer(client, isolation)
    try:
        _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=seconds)
        return int(high)
    finally:
        consumer.close()


def _consumer(client: Mapping[str, Any], isolation: str) -> Consumer:
    own = {
        "group.id": "windrow-commits",
        "enable.auto.commit": False,
        "isolation.level": isolation,
        "enable.partition.eof": True,
        # There is nothing to wait for: what is read is there already, and a start should be quick.
        "fetch.wait.max.ms": 10,
    }
    return Consumer({**client, **own})
