"""The options of a Kafka source as typed values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

from windrow.connectors.kafka.security import BAD_OPTION, for_java, is_of_security
from windrow.connectors.runtime import SourceRequest
from windrow.connectors.times import duration_option
from windrow.errors import UsageError
from windrow.model.types import BINARY, STRING

EARLIEST, LATEST = -2, -1
_PREFIX = "kafka."
# What Spark's connector sets itself, and what to say instead.
_NOT_OURS_TO_GIVE = {
    "bootstrap.servers": "'bootstrap.servers' = '...'",
    "group.id": "'group.id' = '...'",
    "auto.offset.reset": "'auto.offset.reset' = 'latest'",
    "enable.auto.commit": "leave it out: offsets are kept with the job's state",
    "key.deserializer": "'key.format' = 'text'",
    "value.deserializer": "'format' = 'json'",
    "interceptor.classes": "leave it out",
}
# What else the Java consumer knows; one that it does not know it would take in silence.
_OF_THE_CONSUMER = frozenset(
    (
        *("allow.auto.create.topics", "check.crcs", "client.dns.lookup", "client.id", "client.rack", "connections.max.idle.ms"),
        *("default.api.timeout.ms", "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes"),
        *("heartbeat.interval.ms", "isolation.level", "max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records"),
        *("metadata.max.age.ms", "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms"),
        *("retry.backoff.max.ms", "retry.backoff.ms", "send.buffer.bytes", "session.timeout.ms"),
        *("socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
    )
)


@dataclass(frozen=True)
class Topics:
    """Names, or a pattern for them."""

    names: tuple[str, ...]
    pattern: str | None

    @property
    def shown(self) -> str:
        if self.pattern is not None:
            return f"a topic that matches {self.pattern}"
        return f"the topic{'s' if len(self.names) > 1 else ''} {', '.join(self.names)}"

    def missing_from(self, there: Mapping[str, int]) -> bool:
        return not self.chosen(there) if self.pattern is not None else any(name not in there for name in self.names)

    def chosen(self, there: Mapping[str, int]) -> dict[str, int]:
        if self.pattern is None:
            return {name: there[name] for name in self.names if name in there}
        return {name: count for name, count in there.items() if re.fullmatch(self.pattern, name)}


@dataclass(frozen=True)
class AvroSettings:
    """Exactly one of both: a schema for all records, or a registry that records refer to."""

    schema: str | None
    registry: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ProtobufSettings:
    """Exactly one of both: a descriptor with the message of all records, or a registry that records refer to."""

    descriptor: bytes | None
    message: str
    registry: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SourceSettings:
    topics: Topics
    servers: str
    format: str
    key_format: str
    has_headers: bool
    reset: str
    offsets: Mapping[str, Mapping[str, int]] | None
    start_millis: int | None
    per_batch: int
    wait: float
    interval: float
    fails_on_loss: bool
    # None: nobody is shown how far the job has read.
    group: str | None
    avro: AvroSettings | None
    protobuf: ProtobufSettings | None
    # Settings of the client, as its Java form names them.
    client: Mapping[str, str]

    @classmethod
    def of(cls, request: SourceRequest) -> SourceSettings:
        options = request.options
        format_ = options.get("format", "json").lower()
        key_format = options.get("key.format", "text").lower()
        _check_columns(request, format_)
        shows_group = _flag(options, "group.commit", default=True) and not request.is_table
        return cls(
            topics=_topics(options),
            servers=_servers(options),
            format=format_,
            key_format=key_format,
            has_headers=_flag(options, "headers", default=True),
            reset=options.get("auto.offset.reset", "earliest").lower(),
            offsets=_offsets(options),
            start_millis=_start(options),
            per_batch=_count(options, "max.offsets.per.trigger", 1_000_000),
            wait=duration_option(options, "topic.wait.timeout", "30s", BAD_OPTION) / 1_000_000,
            interval=duration_option(options, "topic.retry.interval", "1s", BAD_OPTION) / 1_000_000,
            fails_on_loss=_flag(options, "fail.on.data.loss", default=True),
            group=(options.get("group.id") or f"windrow-{request.job}") if shows_group else None,
            avro=_avro(options) if "avro" in (format_, key_format) else None,
            protobuf=_protobuf(options) if format_ == "protobuf" else None,
            client=_client(options),
        )


def _topics(options: Mapping[str, str]) -> Topics:
    names = tuple(dict.fromkeys(name.strip() for name in options.get("topic", "").split(",") if name.strip()))
    pattern = options.get("topic.pattern")
    if bool(names) == (pattern is not None):
        both = "both are given" if names else "neither is"
        raise UsageError(BAD_OPTION, f"a Kafka source reads a 'topic' or a 'topic.pattern', and {both}", "'topic' = 'trades'")
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name) or name in (".", ".."):
            raise UsageError(BAD_OPTION, f"'{name}' cannot be the name of a topic", "names have letters, digits, dots, _ and -")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                BAD_OPTION, f"'topic.pattern' = '{pattern}' is not a pattern: {error}", "'topic.pattern' = 'trades-.*'"
            ) from None
    return Topics(names, pattern)


def _servers(options: Mapping[str, str]) -> str:
    servers = options.get("bootstrap.servers", "").strip()
    for server in servers.split(","):
        if not re.fullmatch(r"(?:\w+://)?(?:\[[0-9a-fA-F:.%]+\]|[^\s:/]+):\d{1,5}", server.strip()):
            raise UsageError(BAD_OPTION, f"'bootstrap.servers' = '{servers}' is not host:port", "'bootstrap.servers' = 'localhost:9092'")
    return servers


def _offsets(options: Mapping[str, str]) -> dict[str, dict[str, int]] | None:
    text = options.get("starting.offsets")
    if text is None:
        return None
    if "starting.timestamp" in options:
        raise UsageError(BAD_OPTION, "'starting.offsets' and 'starting.timestamp' exclude each other", "leave one of them out")
    try:
        given = json.loads(text)
        return {str(topic): {str(int(partition)): _offset(offset) for partition, offset in each.items()} for topic, each in given.items()}
    except (ValueError, AttributeError, TypeError) as error:
        hint = """'starting.offsets' = '{"trades": {"0": 23, "1": -2}}'"""
        raise UsageError(BAD_OPTION, f"'starting.offsets' does not name an offset for each partition of a topic: {error}", hint) from None


def _offset(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < EARLIEST:
        raise ValueError(f"{value!r} is not an offset")
    return value


def _start(options: Mapping[str, str]) -> int | None:
    text = options.get("starting.timestamp")
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            BAD_OPTION, f"'starting.timestamp' = '{text}' is not a time", "'starting.timestamp' = '2026-01-01T00:00:00Z'"
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _check_columns(request: SourceRequest, format_: str) -> None:
    if format_ == "raw" and (len(request.columns) != 1 or request.columns[0].type not in (STRING, BINARY)):
        raise UsageError(
            BAD_OPTION,
            f"with 'format' = 'raw' {request.name} has one column, of type STRING or BINARY",
            f"CREATE STREAM {request.name} (value STRING)",
        )


def _avro(options: Mapping[str, str]) -> AvroSettings:
    file, registry = options.get("avro.schema.file"), options.get("schema.registry.url")
    if (file is None) == (registry is None):
        raise UsageError(BAD_OPTION, "Avro needs a schema: 'avro.schema.file' or 'schema.registry.url', one of both", _REGISTRY_EXAMPLE)
    if file is None:
        return AvroSettings(None, _registry(options))
    try:
        return AvroSettings(Path(file).read_text(encoding="utf-8"), ())
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable("Avro schema", file, error, "'avro.schema.file' = 'schemas/trade.avsc'") from None


def _protobuf(options: Mapping[str, str]) -> ProtobufSettings:
    file, registry = options.get("protobuf.descriptor.file"), options.get("schema.registry.url")
    message = options.get("protobuf.message", "")
    if (file is None) == (registry is None):
        both = "Protobuf needs a schema: 'protobuf.descriptor.file' or 'schema.registry.url', one of both"
        raise UsageError(BAD_OPTION, both, _REGISTRY_EXAMPLE)
    if (file is None) != (not message):
        only = "'protobuf.message' says which message of 'protobuf.descriptor.file' records are; records of a registry say it themselves"
        raise UsageError(BAD_OPTION, only, "'protobuf.message' = 'shop.Trade'" if file is not None else "leave 'protobuf.message' out")
    if file is None:
        return ProtobufSettings(None, "", _registry(options))
    try:
        return ProtobufSettings(Path(file).read_bytes(), message, ())
    except OSError as error:
        raise _unreadable("Protobuf descriptor", file, error, "'protobuf.descriptor.file' = 'schemas/trade.desc'") from None


_REGISTRY_EXAMPLE = "'schema.registry.url' = 'http://localhost:8081'"


def _registry(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    user = options.get("schema.registry.basic.auth.user.info")
    return (("url", options["schema.registry.url"]), *((("basic.auth.user.info", user),) if user else ()))


def _unreadable(what: str, file: str, error: Exception, example: str) -> UsageError:
    reason = getattr(error, "strerror", None) or str(error)
    return UsageError("WR869", f"the {what} {file} cannot be read: {reason}", example)


def _client(options: Mapping[str, str]) -> dict[str, str]:
    given = {key[len(_PREFIX) :]: value for key, value in options.items() if key.lower().startswith(_PREFIX)}
    for key in given:
        if key.lower() in _NOT_OURS_TO_GIVE:
            raise UsageError(BAD_OPTION, f"'kafka.{key}' cannot be given", _NOT_OURS_TO_GIVE[key.lower()])
    for key in for_java(given):
        if not is_of_security(key) and key not in _OF_THE_CONSUMER:
            near = get_close_matches(key, _OF_THE_CONSUMER, 1, 0.6)
            hint = (
                f"did you mean 'kafka.{near[0]}'?"
                if near
                else "leave it out, or use a setting of the Java consumer: 'kafka.max.poll.records'"
            )
            raise UsageError(BAD_OPTION, f"'kafka.{key}' is not known", hint)
    return {"isolation.level": "read_committed", **given}


def _flag(options: Mapping[str, str], key: str, *, default: bool) -> bool:
    return options.get(key, str(default)).lower() == "true"


def _count(options: Mapping[str, str], key: str, default: int) -> int:
    text = options.get(key, str(default))
    if not text.strip().isdecimal() or int(text) < 1:
        raise UsageError(BAD_OPTION, f"'{key}' = '{text}' is not a number of records", f"'{key}' = '{default}'")
    return int(text)
