"""Records into a topic and out of it, a line each."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from windrow.connectors.kafka.client import Complaints, client_settings, saying_why
from windrow.connectors.kafka.failures import NO_TOPIC, REFUSED, UNREACHABLE, classify, is_denied, what_was_said
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import Guard, RetryRule

NOT_JSON, NOT_TAKEN = "WR626", "WR627"

Header = tuple[str, str | bytes | None]
_CALL_SECONDS = 5.0
_DELIVERY_SECONDS = 30.0
_ENDURANCE = 15.0


@dataclass(frozen=True)
class Cluster:
    """The brokers to talk to, and what the client needs to be let in."""

    servers: str
    settings: Mapping[str, str]
    complaints: Complaints = field(default_factory=Complaints)

    def client(self, **more: Any) -> dict[str, Any]:
        return {**client_settings(self.servers, self.settings, self.complaints), **more}

    def call(self, what: str, action: Callable[[], Any]) -> Any:
        return Guard(f"kafka {self.servers}", classify, self._explain, RetryRule(give_up_after=_ENDURANCE)).call(what, action)

    def partitions(self, topic: str) -> int:
        """How many the topic has; 0 where there is none."""
        admin = self._admin()

        def ask() -> Any:
            with saying_why(admin, self.complaints):
                return admin.list_topics(timeout=_CALL_SECONDS).topics

        found = self.call("ask for the topic", ask)
        return len(found[topic].partitions) if topic in found and found[topic].error is None else 0

    def need(self, topic: str) -> int:
        count = self.partitions(topic)
        if not count:
            hint = f"windrow produce {topic} FILE --create makes it"
            raise UsageError(NO_TOPIC, f"the topic {topic} cannot be found at {self.servers}", hint)
        return count

    def create(self, topic: str, partitions: int) -> None:
        """Nothing happens where it is there already."""
        admin = self._admin()

        def make() -> None:
            try:
                admin.create_topics([NewTopic(topic, partitions)])[topic].result(_DELIVERY_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

        if not self.partitions(topic):
            self.call(f"make the topic {topic}", make)

    def _admin(self) -> AdminClient:
        try:
            return AdminClient(self.client())
        except KafkaException as error:
            raise UsageError(
                NOT_TAKEN, f"the Kafka client refuses a setting: {what_was_said(error)}", "-X security.protocol=SASL_SSL"
            ) from None

    def _explain(self, error: BaseException, what: str) -> WindrowError:
        if is_denied(error):
            login = "-X sasl.mechanism=SCRAM-SHA-512 -X sasl.username=app -X sasl.password=..."
            hint = f"-X security.protocol=SASL_SSL -X ssl.ca.location=ca.pem {login}"
            return JobError(REFUSED, f"could not {what}: {self.servers} does not let us in ({what_was_said(error)})", hint)
        hint = "name another with --bootstrap-servers, or start one on this machine: windrow kafka up"
        return JobError(UNREACHABLE, f"could not {what}: {self.servers} does not answer ({what_was_said(error)})", hint)


def produce(
    cluster: Cluster,
    topic: str,
    lines: Iterable[bytes],
    *,
    key: str | None = None,
    headers: Sequence[Header] = (),
    rate: float | None = None,
    on_sent: Callable[[int], None] = lambda _: None,
) -> int:
    """Send one record for each line of JSON; how many were taken. Returns when the broker has them all.

    ``rate``: so many a second. ``on_sent`` is told how many bytes of input each record took.
    """
    refused: list[KafkaError] = []

    def note(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            refused.append(error)

    client = cluster.client(**{"delivery.timeout.ms": int(_DELIVERY_SECONDS * 1000), "linger.ms": 20, "enable.idempotence": True})
    producer = Producer(client)
    began, sent = time.monotonic(), 0
    for number, line in enumerate(lines, 1):
        if line.strip():
            record_key = _key_of(line, number, key)
            _give(producer, topic, line.strip(), record_key, list(headers), note)
            sent += 1
        on_sent(len(line))
        if refused:
            break
        if rate is not None:
            producer.poll(max(0.0, began + sent / rate - time.monotonic()))
    left = producer.flush(_DELIVERY_SECONDS + _CALL_SECONDS)
    if refused or left:
        reason = refused[0].str() if refused else "the broker does not answer"
        taken = sent - left - len(refused)
        raise JobError(NOT_TAKEN, f"{taken:,} of {sent:,} records were taken by {topic}: {reason}", "check the broker and the topic")
    return sent


def _give(
    producer: Producer, topic: str, value: bytes, key: bytes | None, headers: list[tuple[str, str | bytes | None]], note: Any
) -> None:
    while True:
        try:
            producer.produce(topic, value=value, key=key, headers=headers, on_delivery=note)
        except BufferError:
            # The broker is slower than we are: wait until it has taken some.
            producer.poll(0.5)
        except KafkaException as error:
            raise JobError(
                NOT_TAKEN, f"a record cannot be sent to {topic}: {what_was_said(error)}", "see max.message.bytes of the topic"
            ) from None
        else:
            producer.poll(0)
            return


def _key_of(line: bytes, number: int, field: str | None) -> bytes | None:
    """
    >>> _key_of(b'{"id": 7}', 1, "id"), _key_of(b'{"id": "x"}', 1, "id"), _key_of(b'{}', 1, "id")
    (b'7', b'x', None)
    """
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(NOT_JSON, f"line {number} is not JSON: {error}", "one JSON object a line") from None
    if field is None:
        return None
    if not isinstance(row, dict):
        raise UsageError(NOT_JSON, f"line {number} is not an object, so it has no field {field}", "leave out --key")
    value = row.get(field)
    return None if value is None else (value if isinstance(value, str) else json.dumps(value)).encode()


def consume(
    cluster: Cluster, topic: str, *, from_beginning: bool, isolation: str = "read_committed", timeout: float | None = None
) -> Iterator[Message]:
    """The records of a topic as they come; ends when none has come for ``timeout`` seconds. Leaves no trace at the broker."""
    count = cluster.need(topic)
    group = {"group.id": f"windrow-consume-{uuid.uuid4().hex}", "enable.auto.commit": False, "isolation.level": isolation}
    consumer = Consumer(cluster.client(**group))
    try:
        start = OFFSET_BEGINNING if from_beginning else OFFSET_END
        consumer.assign([TopicPartition(topic, partition, start) for partition in range(count)])
        last = time.monotonic()
        while timeout is None or time.monotonic() - last < timeout:
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                if error.fatal() or not (error.retriable() or error.code() < 0):
                    raise JobError(UNREACHABLE, f"reading {topic} stopped: {error.str()}", "check the broker and the topic")
                continue
            last = time.monotonic()
            yield message
    finally:
        consumer.close()
