"""A consumer group that shows how far a job has read, for the tools that watch lag.

The job itself goes by its own state. What is noted here is for others, so nothing of it may fail a job or hold it up.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from windrow.connectors.kafka.client import Complaints, asking_settings
from windrow.connectors.kafka.failures import classify, explain
from windrow.connectors.kafka.source_options import partition_number
from windrow.errors import WindrowError
from windrow.resilience import Guard, RetryRule

_CLOSE_SECONDS = 5.0


class GroupMirror:
    """Notes the newest offsets only: what a busy broker kept waiting is overtaken by the batches after it."""

    def __init__(self, servers: str, client: Mapping[str, str], group: str | None, options: Mapping[str, str]) -> None:
        self._options = options
        self._group = group
        self._settings = {**asking_settings(servers, client, Complaints()), "group.id": group, "enable.auto.commit": False}
        self._stopping = threading.Event()
        self._guard = Guard(
            f"kafka group {group}", classify, partial(explain, servers), RetryRule(longest=10.0, give_up_after=60.0), self._stopping
        )
        self._changed = threading.Condition()
        self._newest: Mapping[str, Mapping[str, int]] | None = None
        self._thread: threading.Thread | None = None

    def partitions_at(self, offset: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(partition_number(self._options, topic, int(partition)) for topic, each in offset.items() for partition in each)

    def rows(self, since: Mapping[str, Any], offset: Mapping[str, Any]) -> dict[int, int]:
        """With the markers of transactions, which are records to a broker."""
        return {
            partition_number(self._options, topic, int(number)): at - since.get(topic, {}).get(number, 0)
            for topic, each in offset.items()
            for number, at in each.items()
        }

    def committed(self, offset: Mapping[str, Any]) -> None:
        if self._group is None or not offset:
            return
        with self._changed:
            self._newest = offset
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"windrow-group-{self._group}", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """What is due is still noted, if the broker takes it at once."""
        self._stopping.set()
        with self._changed:
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        try:
            while (offset := self._next()) is not None:
                places = [TopicPartition(topic, int(number), at) for topic, each in offset.items() for number, at in each.items()]
                # The breaker of the group remembers what went wrong, and the status shows it.
                with suppress(WindrowError):
                    self._guard.call("note how far the job has read", partial(_commit, consumer, places))
        finally:
            consumer.close()

    def _next(self) -> Mapping[str, Mapping[str, int]] | None:
        """The newest offsets that are not noted yet, once there are some; None when the job has stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is not None or self._stopping.is_set())
            due, self._newest = self._newest, None
            return due


def _commit(consumer: Consumer, places: list[TopicPartition]) -> None:
    for place in consumer.commit(offsets=places, asynchronous=False) or ():
        if place.error is not None:
            raise KafkaException(place.error)
