"""What the brokers know: which topics there are, and with how many partitions."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from windrow.connectors.kafka.source_settings import Topics
from windrow.errors import UsageError, WindrowError
from windrow.resilience import FailureClass, Guard, RetryRule

UNREACHABLE, REFUSED, NO_TOPIC, BAD_OPTION = "WR860", "WR861", "WR862", "WR867"

_CALL_SECONDS = 5.0
_LOGIN = re.compile(r"\b(username|password)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s;]+)")
# Settings of the Java client by the names that librdkafka has for them. What is not here changes nothing for a question or two.
_NAMES = {
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "sasl.username": "sasl.username",
    "sasl.password": "sasl.password",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.ca.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.certificate.location": "ssl.certificate.location",
    "ssl.key.location": "ssl.key.location",
    "ssl.key.password": "ssl.key.password",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
}
_DENIED = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)

# The client writes every refused connection to the terminal unless it is given somebody else to tell.
_LOG = logging.getLogger("windrow.kafka.brokers")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


class Brokers:
    """Those behind ``bootstrap.servers``. ``patience``: for how many seconds they may be away."""

    def __init__(self, servers: str, client: Mapping[str, str], patience: float) -> None:
        self.servers = servers
        self._client = client
        self._complaint: KafkaError | None = None
        self.guard = Guard(f"kafka {servers}", classify, self._explain, RetryRule(longest=2.0, give_up_after=patience))

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
        try:
            found = self._admin.list_topics(timeout=_CALL_SECONDS)
        except KafkaException as error:
            # Why nobody answers is said in passing only: an authentication that failed looks like a timeout.
            self._admin.poll(0)
            if self._complaint is not None:
                raise KafkaException(self._complaint) from error
            raise
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    @cached_property
    def _admin(self) -> AdminClient:
        try:
            settings: Any = {**client_settings(self.servers, self._client), "error_cb": self._note}
            return AdminClient(settings, logger=_LOG)
        except KafkaException as error:
            raise UsageError(
                BAD_OPTION, f"the Kafka client refuses a 'kafka.*' option: {_said(error)}", "'kafka.security.protocol' = 'SASL_SSL'"
            ) from None

    def _note(self, error: KafkaError) -> None:
        if error.code() in _DENIED or self._complaint is None or self._complaint.code() not in _DENIED:
            self._complaint = error

    def _no_topic(self, topics: Topics, there: Mapping[str, int]) -> WindrowError:
        names = sorted(name for name in there if not name.startswith("_"))
        known = f"there are: {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" if names else "there are no topics yet"
        missing = topics.shown if topics.pattern is not None else Topics(tuple(n for n in topics.names if n not in there), None).shown
        return UsageError(
            NO_TOPIC, f"{missing} cannot be found at {self.servers}; {known}", "make it first, or raise 'topic.wait.timeout' = '5m'"
        )

    def _explain(self, error: BaseException, what: str) -> WindrowError:
        known = error.args[0] if isinstance(error, KafkaException) and error.args else None
        if isinstance(known, KafkaError) and known.code() in _DENIED:
            return UsageError(
                REFUSED,
                f"the broker {self.servers} refuses to let us in: {_said(error)}",
                "check 'kafka.security.protocol', 'kafka.sasl.mechanism' and the credentials",
            )
        return UsageError(
            UNREACHABLE,
            f"could not {what}: the broker {self.servers} does not answer ({_said(error)})",
            "check 'bootstrap.servers' and that the broker runs; for one on this machine: windrow kafka up",
        )


def classify(error: BaseException) -> FailureClass:
    known = error.args[0] if isinstance(error, KafkaException) and error.args else None
    if not isinstance(known, KafkaError) or known.code() in _DENIED:
        return FailureClass.PERMANENT
    # Errors of the client itself are below zero: connections that broke, calls that took too long.
    return FailureClass.TRANSIENT if known.retriable() or known.code() < 0 else FailureClass.PERMANENT


def client_settings(servers: str, client: Mapping[str, str]) -> dict[str, Any]:
    """The client's settings as librdkafka has them.

    >>> client_settings("b:1", {"sasl.jaas.config": 'x required username="me" password="it;s";'})["sasl.password"]
    'it;s'
    """
    settings: dict[str, Any] = {
        "bootstrap.servers": servers,
        "client.id": "windrow",
        "socket.timeout.ms": 10_000,
        "reconnect.backoff.ms": 200,
        "reconnect.backoff.max.ms": 2_000,
        "socket.connection.setup.timeout.ms": 5_000,
    }
    settings.update({_NAMES[key]: value for key, value in client.items() if key in _NAMES})
    login = _LOGIN.findall(client.get("sasl.jaas.config", ""))
    settings.update({f"sasl.{name}": _unquoted(text) for name, text in login})
    return settings


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def _said(error: BaseException) -> str:
    known = error.args[0] if error.args else error
    lines = (known.str() if isinstance(known, KafkaError) else str(known)).strip().splitlines()
    return lines[0] if lines else type(error).__name__
