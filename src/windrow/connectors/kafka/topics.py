"""Topics that a sink needs: there, or made."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from windrow.connectors.kafka.failures import error_of

_COPIES = 3
# A broker that has just started, or just made a topic, may not know of it yet.
_SETTLING = 3.0
_POLL = 0.2


def exists(admin: AdminClient, topic: str, seconds: float) -> bool:
    """Asks for a while, and without making it, as a broker that creates topics by itself would."""
    deadline = time.monotonic() + _SETTLING
    while not (is_there := _is_known(admin, topic, seconds)) and time.monotonic() < deadline:
        time.sleep(_POLL)
    return is_there


def _is_known(admin: AdminClient, topic: str, seconds: float) -> bool:
    future = admin.describe_topics(TopicCollection([topic]), request_timeout=seconds)[topic]
    try:
        future.result(seconds + 5)
    except KafkaException as error:
        known = error_of(error)
        if known is not None and known.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return False
        raise
    return True


def create(
    admin: AdminClient, topic: str, seconds: float, partitions: int | None, replication: int | None, config: Mapping[str, str] | None = None
) -> None:
    """Nothing happens where somebody else was faster. What is not given is the broker's to choose."""
    wanted = NewTopic(topic, partitions or -1, replication or -1, config=dict(config or {}))
    future = admin.create_topics([wanted], request_timeout=seconds, operation_timeout=seconds)[topic]
    try:
        future.result(seconds + 5)
    except KafkaException as error:
        known = error_of(error)
        if known is None or known.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def most_bytes(admin: AdminClient, topic: str, seconds: float) -> int:
    """How large a record of a topic may be, with what the broker puts around it."""
    wanted = ConfigResource(ResourceType.TOPIC, topic)
    found = admin.describe_configs([wanted], request_timeout=seconds)[wanted].result(seconds + 5)
    return int(found["max.message.bytes"].value)


def usual_replication(admin: AdminClient, seconds: float) -> int:
    """Three copies where there are brokers for them."""
    return min(_COPIES, len(admin.list_topics(timeout=seconds).brokers))
