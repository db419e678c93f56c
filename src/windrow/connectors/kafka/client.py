"""Clients of a broker, with settings as the Java world names them, and with what the broker says kept from the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from windrow.connectors.kafka.failures import classify, what_was_said
from windrow.connectors.kafka.security import BAD_OPTION, for_librdkafka, lets_in
from windrow.errors import UsageError
from windrow.resilience import FailureClass

# Settings that only the Java client knows and that change nothing here.
_OF_JAVA = frozenset(("key.serializer", "value.serializer"))
_RENAMED = {"max.request.size": "message.max.bytes"}
# The client writes every refused connection to the terminal unless it is given somebody else to tell.
_LOG = logging.getLogger("windrow.kafka")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


class Complaints:
    """What a client said in passing: an authentication that failed shows only here, and as a timeout where it was needed."""

    def __init__(self) -> None:
        self.denied: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        """That a client is beyond repair is no reason: whoever asks it next is told the reason."""
        if error.code() != KafkaError._FATAL and classify(KafkaException(error)) is FailureClass.PERMANENT:
            self.denied = error

    def or_worse(self, error: KafkaException) -> KafkaException:
        """The error, or the reason why it had to come."""
        return error if self.denied is None else KafkaException(self.denied)


@contextmanager
def saying_why(admin: AdminClient, complaints: Complaints) -> Iterator[None]:
    """A call that nobody answers fails with the reason, where one was told in passing."""
    try:
        yield
    except KafkaException as error:
        admin.poll(0)
        raise complaints.or_worse(error) from error


def client_settings(servers: str, given: Mapping[str, str], complaints: Complaints) -> dict[str, Any]:
    """What every client of ours starts from; what the user gave goes last."""
    return {
        "bootstrap.servers": servers,
        "client.id": "windrow",
        "socket.timeout.ms": 10_000,
        "socket.connection.setup.timeout.ms": 10_000,
        "reconnect.backoff.ms": 200,
        "reconnect.backoff.max.ms": 2_000,
        "error_cb": complaints.note,
        "logger": _LOG,
        **translate(given),
    }


def asking_settings(servers: str, given: Mapping[str, str], complaints: Complaints) -> dict[str, Any]:
    """For questions beside Spark's own client, which all that was given is meant for: how to be let in is enough.

    >>> made = asking_settings("b:1", {"fetch.min.bytes": "1", "sasl.mechanism": "PLAIN"}, Complaints())
    >>> "fetch.min.bytes" in made, made["sasl.mechanism"]
    (False, 'PLAIN')
    """
    return client_settings(servers, lets_in(given), complaints)


def translate(given: Mapping[str, str]) -> dict[str, str]:
    """Settings of the Java client as librdkafka has them; its own names stay as they are.

    >>> translate({"max.request.size": "9", "acks": "all"})
    {'message.max.bytes': '9', 'acks': 'all'}
    """
    return {_RENAMED.get(key, key): value for key, value in for_librdkafka(given).items() if key not in _OF_JAVA}


def refused_setting(error: KafkaException) -> UsageError:
    """A setting that the client does not know or cannot use. Its value may be a secret, so only what the client says is shown."""
    hint = "'kafka.security.protocol' = 'SASL_SSL'; see the settings that librdkafka lists"
    return UsageError(BAD_OPTION, f"the Kafka client refuses a 'kafka.*' option: {what_was_said(error)}", hint)
