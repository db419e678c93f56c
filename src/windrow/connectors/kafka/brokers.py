"""What the brokers know: which topics there are, and with how many partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from windrow.connectors.kafka.client import Complaints, asking_settings, refused_setting, saying_why
from windrow.connectors.kafka.failures import NO_TOPIC, classify, explain
from windrow.connectors.kafka.source_settings import Topics
from windrow.errors import UsageError, WindrowError
from windrow.resilience import Guard, RetryRule

_CALL_SECONDS = 5.0


@dataclass(frozen=True)
class Bounds:
    """The first offset of a partition, and the one after its last record that may be read."""

    start: int
    end: int


class Brokers:
    """Those behind ``bootstrap.servers``. ``give_up_after``: for how many seconds they may be away."""

    def __init__(self, servers: str, client: Mapping[str, str], give_up_after: float) -> None:
        self.servers = servers
        self._client = client
        self._complaints = Complaints()
        rule = RetryRule(longest=2.0, give_up_after=give_up_after)
        self.guard = Guard(f"kafka {servers}", classify, partial(explain, servers), rule, is_opening=True)

    def wait_for(self, topics: Topics, wait: float, interval: float, sleep: Callable[[float], None] = time.sleep) -> dict[str, int]:
        """The chosen topics with their partitions. One that is not there may be made while we wait."""
        deadline = time.monotonic() + wait
        while True:
            there = self.guard.call("ask for its topics", self._topics)
            if not topics.missing_from(there):
                return topics.chosen(there)
            if time.monotonic() + interval > deadline:
                raise self._no_topic(topics, there)
            sleep(interval)

    def _topics(self) -> dict[str, int]:
        with saying_why(self._admin, self._complaints):
            found = self._admin.list_topics(timeout=_CALL_SECONDS)
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def bounds(self, topics: Mapping[str, int]) -> dict[str, dict[int, Bounds]]:
        """Of every partition, by the isolation that the client's settings ask for."""
        return self.guard.call("ask how far its topics go", lambda: self._bounds(topics))

    def _bounds(self, topics: Mapping[str, int]) -> dict[str, dict[int, Bounds]]:
        isolation = self._client.get("isolation.level", "read_committed")
        own = {"group.id": "windrow-tables", "enable.auto.commit": False, "isolation.level": isolation}
        consumer = Consumer({**asking_settings(self.servers, self._client, self._complaints), **own})
        try:
            return {topic: {number: _bounds(consumer, topic, number) for number in range(count)} for topic, count in topics.items()}
        except KafkaException as error:
            raise self._complaints.or_worse(error) from error
        finally:
            consumer.close()

    @cached_property
    def _admin(self) -> AdminClient:
        try:
            return AdminClient(asking_settings(self.servers, self._client, self._complaints))
        except KafkaException as error:
            raise refused_setting(error) from None

    def _no_topic(self, topics: Topics, there: Mapping[str, int]) -> WindrowError:
        names = sorted(name for name in there if not name.startswith("_"))
        known = f"there are: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" if names else "there are no topics yet"
        missing = topics.shown if topics.pattern is not None else Topics(tuple(n for n in topics.names if n not in there), None).shown
        return UsageError(
            NO_TOPIC, f"{missing} cannot be found at {self.servers}; {known}", "make it first, or raise 'topic.wait.timeout' = '5m'"
        )


def _bounds(consumer: Consumer, topic: str, number: int) -> Bounds:
    start, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_CALL_SECONDS)
    return Bounds(int(start), int(end))
