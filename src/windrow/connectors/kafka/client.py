"""Clients of a broker, with settings as the Java world names them, and with what the broker says kept from the terminal."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from windrow.connectors.kafka.failures import classify, what_was_said
from windrow.errors import UsageError
from windrow.resilience import FailureClass

BAD_OPTION = "WR867"

_LOGIN = re.compile(r"\b(username|password)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;]+)")
# Settings that only the Java client knows and that change nothing here.
_OF_JAVA = frozenset(("ssl.truststore.type", "ssl.keystore.type", "key.serializer", "value.serializer"))
_RENAMED = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.key.password": "ssl.key.password",
    "max.request.size": "message.max.bytes",
}
# All that a client needs to be let in, by librdkafka's names.
_TO_BE_LET_IN = frozenset(
    (
        *("security.protocol", "sasl.mechanism", "sasl.username", "sasl.password"),
        *("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password", "ssl.endpoint.identification.algorithm"),
    )
)
# The client writes every refused connection to the terminal unless it is given somebody else to tell.
_LOG = logging.getLogger("windrow.kafka")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


class Complaints:
    """What a client said in passing: an authentication that failed shows only here, and as a timeout where it was needed."""

    def __init__(self) -> None:
        self.denied: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        if classify(KafkaException(error)) is FailureClass.PERMANENT:
            self.denied = error

    def or_worse(self, error: KafkaException) -> KafkaException:
        """The error, or the reason why it had to come."""
        return error if self.denied is None else KafkaException(self.denied)


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
    wanted = {key: value for key, value in translate(given).items() if key in _TO_BE_LET_IN}
    return client_settings(servers, wanted, complaints)


def translate(given: Mapping[str, str]) -> dict[str, str]:
    """Settings of the Java client as librdkafka has them; its own names stay as they are.

    >>> translate({"sasl.jaas.config": 'a.PlainLoginModule required username="me" password="it;s";', "acks": "all"})
    {'sasl.username': 'me', 'sasl.password': 'it;s', 'acks': 'all'}
    """
    settings: dict[str, str] = {}
    for key, value in given.items():
        if key == "sasl.jaas.config":
            settings.update({f"sasl.{name}": _unquoted(text) for name, text in _LOGIN.findall(value)})
        elif key not in _OF_JAVA:
            settings[_RENAMED.get(key, key)] = value
    return settings


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def refused_setting(error: KafkaException) -> UsageError:
    """A setting that the client does not know or cannot use. Its value may be a secret, so only what the client says is shown."""
    hint = "'kafka.security.protocol' = 'SASL_SSL'; see the settings that librdkafka lists"
    return UsageError(BAD_OPTION, f"the Kafka client refuses a 'kafka.*' option: {what_was_said(error)}", hint)
