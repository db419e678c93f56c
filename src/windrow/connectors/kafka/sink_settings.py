"""The options of a Kafka sink as typed values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.connectors.kafka.security import BAD_OPTION
from windrow.connectors.kafka.sink_options import COMMITS_TOPIC, EVENT_TIME, EXACTLY_ONCE, JSON
from windrow.connectors.spec import SIGNALS
from windrow.connectors.times import duration_option
from windrow.errors import UsageError

KAFKA = "kafka."
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True)
class SinkSettings:
    """Lengths of time are seconds. ``client`` holds the settings of the client library, without the prefix; they may be secret."""

    topic: str
    servers: str
    is_exact: bool = True
    has_event_time: bool = False
    creates_topic: bool = False
    partitions: int | None = None
    replication: int | None = None
    commits_topic: str = COMMITS_TOPIC
    transaction_seconds: float = 300.0
    request_seconds: float = 30.0
    retry_seconds: float = 600.0
    sets_aside: bool = False
    # Format and signal; None: each row is a record of its own, as JSON.
    telemetry: tuple[str, str] | None = None
    client: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SinkSettings:
        creates = options.get("topic.create", "false").lower() == "true"
        for key in ("topic.partitions", "topic.replication.factor"):
            if key in options and not creates:
                raise UsageError(BAD_OPTION, f"'{key}' is for a topic that the job makes", "'topic.create' = 'true'")
        policy = options.get("failure.policy", "retry").lower()
        return cls(
            topic=_topic(options, "topic", None),
            servers=_servers(options),
            is_exact=options.get("delivery", EXACTLY_ONCE).lower() == EXACTLY_ONCE,
            has_event_time=options.get("timestamp", "").lower() == EVENT_TIME,
            creates_topic=creates,
            partitions=_positive(options, "topic.partitions"),
            replication=_positive(options, "topic.replication.factor"),
            commits_topic=_topic(options, "commits.topic", COMMITS_TOPIC),
            transaction_seconds=_seconds(options, "transaction.timeout", "5m"),
            request_seconds=_seconds(options, "request.timeout", "30s"),
            retry_seconds=0.0 if policy == "fail" else _seconds(options, "retry.timeout", "10m"),
            sets_aside=policy == "dead_letter",
            telemetry=_telemetry(options, policy),
            client={key[len(KAFKA) :]: value for key, value in options.items() if key.lower().startswith(KAFKA)},
        )


def _telemetry(options: Mapping[str, str], policy: str) -> tuple[str, str] | None:
    given = [options[key].lower() for key in ("value.format", "format") if options.get(key, JSON).lower() != JSON]
    signal = options.get("signal")
    if not given:
        if signal is not None:
            raise UsageError(BAD_OPTION, "'signal' is for values that are telemetry", "'value.format' = 'otlp'")
        return None
    if len(set(given)) > 1:
        raise UsageError(BAD_OPTION, f"'value.format' = '{given[0]}' and 'format' = '{given[1]}' contradict each other", "give one of them")
    if signal is None:
        raise UsageError(BAD_OPTION, f"values as {given[0]} need 'signal'", f"'signal' = 'logs', or one of {', '.join(SIGNALS[1:])}")
    if policy == "dead_letter":
        hint = "'failure.policy' = 'retry' or 'fail', or a larger 'kafka.message.max.bytes'"
        raise UsageError(BAD_OPTION, f"'failure.policy' = 'dead_letter' cannot tell the rows in a record of {given[0]} apart", hint)
    return given[0], signal.lower()


def _topic(options: Mapping[str, str], key: str, default: str | None) -> str:
    name = options.get(key, default)
    if name is None:
        raise UsageError(BAD_OPTION, f"a Kafka sink needs '{key}'", f"'{key}' = 'volumes'")
    if _TOPIC.fullmatch(name) is None or name in (".", ".."):
        raise UsageError(BAD_OPTION, f"'{key}' = '{name}' is no name of a topic", "use letters, digits, '.', '_' and '-', 249 at most")
    return name


def _servers(options: Mapping[str, str]) -> str:
    servers = options.get("bootstrap.servers", "").strip()
    if not servers:
        raise UsageError(BAD_OPTION, "a Kafka sink needs 'bootstrap.servers'", "'bootstrap.servers' = 'localhost:9092'")
    return servers


def _positive(options: Mapping[str, str], key: str) -> int | None:
    text = options.get(key)
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(BAD_OPTION, f"'{key}' = '{text}' is not a whole number above 0", f"'{key}' = '1'")
    return int(text)


def _seconds(options: Mapping[str, str], key: str, default: str) -> float:
    seconds = duration_option(options, key, default, BAD_OPTION) / 1_000_000
    if seconds < 1:
        raise UsageError(BAD_OPTION, f"'{key}' = '{options[key]}' is less than a second", f"'{key}' = '{default}'")
    return seconds
