"""Options and connectors by the names that other systems give them, and what is written here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windrow.catalog.options import options_for_sink, options_for_source
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.model.options import Option
from windrow.model.secret_names import names_secret
from windrow.sql.words import quote_string

CONNECTOR_NAMES: dict[str, str] = {
    "upsert-kafka": "kafka",
    "kafka_source": "kafka",
    "kafka_sink": "kafka",
    "redpanda": "kafka",
    "filesystem": "files",
    "file": "files",
    "file_source": "files",
    "file_sink": "files",
    "posix_fs": "files",
    "single_file": "files",
    "postgresql": "postgres",
    "database_sink": "postgres",
    "datagen": "generator",
    "faker": "generator",
    "rate": "generator",
    "impulse": "generator",
    "nexmark": "generator",
    "print": "console",
    "stdout": "console",
    "stdout_sink": "console",
}
"""Connectors by the names that other systems give them."""


@dataclass(frozen=True)
class ForeignOption:
    """The key here, and values that are spelled otherwise; ``clause`` where it is a clause of the query and no option."""

    key: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    clause: str = ""
    # Why the option is not needed, where there is nothing to write.
    needless: str = ""
    # The option of the same system whose line says this one too.
    beside: str = ""

    def hint(self, entry: Option, present: Iterable[str] = ()) -> str:
        """What to write or to remove, where a list already has some keys."""
        if self.needless:
            return f"leave it out: {self.needless}"
        if self.beside in present:
            return f"leave it out: what stands in the place of '{self.beside}' says it"
        if self.key and self.key in present:
            return f"leave it out: '{self.key}' is there"
        return f"write {self.clause.format(self._spelled(entry))}" if self.clause else f"write {self.written(entry)}"

    def written(self, entry: Option) -> str:
        """The option as it stands in a WITH list. A secret is not repeated: it comes from the environment."""
        return f"'{self.key}' = {quote_string(self._spelled(entry))}"

    def _spelled(self, entry: Option) -> str:
        is_placed = entry.value.startswith("${")
        if not is_placed and (names_secret(entry.key) or names_secret(self.key)):
            return "${" + re.sub(r"\W+", "_", entry.key.removeprefix(_PROPERTIES)).upper() + "}"
        return self.values.get(entry.value.lower(), self.values.get("", entry.value))


_FORMATS = {"json": "json", "kafka": "json", "delimited": "csv", "avro": "avro", "json_sr": "json"}
_LATE = {"dead_letter_queue": "DEAD_LETTER", "dlq": "DEAD_LETTER", "discard": "DROP", "side_output": "DEAD_LETTER"}
_RUNS = "new files are waited for as long as the job runs"
_ENGINE = "the engine sees to it"
_FLUSHED = "each batch is written when it is done"
_JAAS = """'kafka.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{0}" password="{1}";'"""
_STARTS = {"earliest-offset": "earliest", "latest-offset": "latest", "group-offsets": "earliest", "timestamp": "earliest"}

OPTIONS: dict[str, ForeignOption] = {
    **dict.fromkeys(("kafka_topic", "topic.name", "topics", "datasource.topic.name", "subscribe"), ForeignOption("topic")),
    **dict.fromkeys(("topic-pattern", "subscribepattern"), ForeignOption("topic.pattern")),
    **dict.fromkeys(("brokers", "bootstrap_servers", "properties.bootstrap.server"), ForeignOption("bootstrap.servers")),
    **dict.fromkeys(("consumer.group", "consumer.group.id", "consumer_group", "source.group_id"), ForeignOption("group.id")),
    **dict.fromkeys(("value.serializer", "schema.value.format", "value_format", "value.format"), ForeignOption("format", _FORMATS)),
    "key_format": ForeignOption("key.format", _FORMATS),
    "value_delimiter": ForeignOption("csv.delimiter"),
    "csv.field-delimiter": ForeignOption("csv.delimiter"),
    "csv.quote-character": ForeignOption("csv.quote"),
    "csv.escape-character": ForeignOption("csv.escape"),
    "csv.null-literal": ForeignOption("csv.null"),
    "partitions": ForeignOption("topic.partitions"),
    "replicas": ForeignOption("topic.replication.factor"),
    "timestamp": ForeignOption("event.time.field"),
    "timestamp_format": ForeignOption("event.time.format"),
    "event_time_field": ForeignOption("event.time.field"),
    "event.time.type": ForeignOption("event.time.format"),
    "scan.startup.mode": ForeignOption("auto.offset.reset", _STARTS),
    "startingoffsets": ForeignOption("auto.offset.reset"),
    "source.offset": ForeignOption("auto.offset.reset"),
    "scan.startup.timestamp-millis": ForeignOption("starting.timestamp"),
    "maxoffsetspertrigger": ForeignOption("max.offsets.per.trigger"),
    "failondataloss": ForeignOption("fail.on.data.loss"),
    "includeheaders": ForeignOption("headers"),
    "kafka.bootstrap.servers": ForeignOption("bootstrap.servers"),
    "sink.delivery-guarantee": ForeignOption("delivery", {"exactly-once": "exactly_once", "at-least-once": "at_least_once"}),
    **dict.fromkeys(
        ("json.ignore-parse-errors", "csv.ignore-parse-errors", "value.json.ignore-parse-errors", "value.csv.ignore-parse-errors"),
        ForeignOption("bad.rows", {"true": "drop", "false": "fail"}),
    ),
    **dict.fromkeys(
        ("json.fail-on-missing-field", "value.json.fail-on-missing-field"),
        ForeignOption(needless="a field that is not there is NULL, and NOT NULL behind a column sets its rows aside"),
    ),
    **dict.fromkeys(
        ("json.timestamp-format.standard", "value.json.timestamp-format.standard"), ForeignOption(needless="times are recognised")
    ),
    **dict.fromkeys(
        ("key.fields", "primary_key", "key"), ForeignOption(clause="PRIMARY KEY behind the item of the SELECT list that is the key")
    ),
    **dict.fromkeys(("value.fields-include", "key.fields-prefix"), ForeignOption(needless="every column is in the value")),
    **dict.fromkeys(
        ("type", "force_append_only"), ForeignOption(needless="a stream without a query is read, one with AS SELECT is written")
    ),
    **dict.fromkeys(("scan.bounded.mode", "endingoffsets"), ForeignOption(needless="windrow run --until-end reads up to the end")),
    "checkpointlocation": ForeignOption(needless="windrow run --state DIR says where state lives"),
    "retention_ms": ForeignOption(needless="how long records are kept is the topic's"),
    **dict.fromkeys(
        (
            *("scan.parallelism", "sink.parallelism", "sink.partitioner", "sink.transactional-id-prefix"),
            *("scan.topic-partition-discovery.interval", "wrap_single_value", "driver", "enable.auto.commit"),
            *("key.deserializer", "value.deserializer", "key.serializer"),
        ),
        ForeignOption(needless=_ENGINE),
    ),
    **dict.fromkeys(
        (
            *("sink.buffer-flush.max-rows", "sink.buffer-flush.interval", "sink.rolling-policy.file-size"),
            *("sink.rolling-policy.rollover-interval", "sink.partition-commit.policy.kind", "rolling_policy.interval_seconds"),
        ),
        ForeignOption(needless=_FLUSHED),
    ),
    "sasl.username": ForeignOption(clause=_JAAS.format("{0}", "${{SASL_PASSWORD}}")),
    "sasl.password": ForeignOption(clause=_JAAS.format("me", "{0}"), beside="sasl.username"),
    "file.path": ForeignOption("path"),
    "file.format": ForeignOption("format"),
    **dict.fromkeys(
        ("file.wait.timeout", "file.retry.interval", "file.watch", "watching", "watch", "source.monitor-interval"),
        ForeignOption(needless=_RUNS),
    ),
    **dict.fromkeys(("table-name", "table.name", "dbtable"), ForeignOption("table")),
    "username": ForeignOption("user"),
    **dict.fromkeys(("lookup.cache.ttl", "lookup.partial-cache.expire-after-write"), ForeignOption("refresh.interval")),
    **dict.fromkeys(("rows-per-second", "rowspersecond", "event_rate"), ForeignOption("rows.per.second")),
    **dict.fromkeys(("number-of-rows", "numrows", "message_count"), ForeignOption("rows")),
    **dict.fromkeys(("idle.timeout", "watermark.idle.timeout", "scan.watermark.idle-timeout"), ForeignOption("watermark.idle_timeout")),
    **dict.fromkeys(("watermark.max.out.of.orderness", "watermark.max_out_of_orderness"), ForeignOption("watermark.delay")),
    "watermark.strategy": ForeignOption(
        clause="{0}",
        values={
            "bounded_out_of_orderness": "'watermark.delay' = '5s'",
            "": "'watermark.delay' = '5s'",
            "ascending": "'watermark.delay' = '0s'",
            "ascending_timestamps": "'watermark.delay' = '0s'",
            "monotonous": "'watermark.delay' = '0s'",
            "punctuated": "WINDOW TUMBLING(1m) WITH WATERMARK PUNCTUATED(condition) in the query",
        },
    ),
    "late.data.strategy": ForeignOption(
        values={**_LATE, **{name.lower(): name for name in ("DEAD_LETTER", "DROP", "INCLUDE_IN_NEXT", "UPDATE_PREVIOUS")}},
        clause="LATE_DATA_STRATEGY {0} in the WINDOW clause of the query",
    ),
    **dict.fromkeys(
        ("allowed.lateness", "allowed_lateness"), ForeignOption(clause="ALLOWED_LATENESS {0} in the WINDOW clause of the query")
    ),
}
"""Options by the names that other systems give them."""

_PROPERTIES = "properties."
# Settings of the Kafka client, and where they stand here.
_CLIENT_SETTINGS = "kafka.*"
_CLIENT = re.compile(
    r"(security|sasl|ssl|metadata|fetch|reconnect|retry|socket|connections|delivery|max\.poll)\..+"
    r"|acks|retries|linger\.ms|batch\.size|buffer\.memory|compression\.type|client\.(id|rack)|isolation\.level|session\.timeout\.ms"
    r"|heartbeat\.interval\.ms|request\.timeout\.ms|enable\.idempotence|max\.in\.flight\..+|max\.(block\.ms|request\.size|partition\..+)"
    r"|partition\.assignment\.strategy|auto\.commit\..+|interceptor\.classes|transactional\.id"
)


def foreign_option(entry: Option, connector: str | None = None) -> ForeignOption | None:
    """What an option of another system is here, if it is one that is known; ``connector`` is what the list says."""
    key = entry.key.lower()
    if key in OPTIONS:
        return OPTIONS[key]
    if key.startswith(_PROPERTIES):
        # Flink's way to hand options to the client.
        inner = key.removeprefix(_PROPERTIES)
        if inner in OPTIONS:
            return OPTIONS[inner]
        return ForeignOption(inner if inner in ("bootstrap.servers", "group.id", "auto.offset.reset") else f"kafka.{inner}")
    spec = CONNECTORS.get(connector or "")
    if _CLIENT.fullmatch(key) and (spec is None or _CLIENT_SETTINGS in _keys_of(spec)):
        return ForeignOption(_CLIENT_SETTINGS.replace("*", key))
    if key.endswith(".type") and (entry.value.lower() in CONNECTOR_NAMES or entry.value.lower() in CONNECTORS):
        return ForeignOption("connector", CONNECTOR_NAMES)
    # 'orders.topic' = ..., where the name of the stream stands before the key.
    own = key.partition(".")[2]
    return OPTIONS.get(own) or (ForeignOption(own) if own in (_KNOWN_KEYS if spec is None else _keys_of(spec)) else None)


def _keys_of(spec: ConnectorSpec) -> frozenset[str]:
    return frozenset(own.key for own in (*(spec.source or ()), *(spec.sink or ())))


_KNOWN_KEYS = frozenset[str]().union(*map(_keys_of, CONNECTORS.own().values()))


def said_connector(entries: Iterable[Option]) -> frozenset[str]:
    """The options of the connector that ``'orders.type' = 'kafka_source'`` says: with its name put right, they are known."""
    values = [entry.value.lower() for entry in entries if entry.key.lower().endswith(".type")]
    names = [CONNECTOR_NAMES.get(value, value) for value in values]
    return frozenset(key for name in names if name in CONNECTORS for key in _keys_of(CONNECTORS[name]))


def meant_connector(entries: Iterable[Option]) -> str | None:
    """The connector whose own options a list has most of, where it does not name one."""
    keys = {(foreign.key if (foreign := foreign_option(entry)) is not None else entry.key).lower() for entry in entries}
    known = {name: _keys_of(spec) for name, spec in CONNECTORS.items()}
    shared = {name: len(keys & own) for name, own in known.items()}
    best = max(shared, key=lambda name: shared[name])
    return best if shared[best] else None


def whole_list(entries: tuple[Option, ...], *, is_sink: bool) -> str | None:
    """The WITH list that a list in the words of another system means, if it names no connector and its options tell which."""
    connector = meant_connector(entries)
    if connector is None or any(entry.key.lower() == "connector" for entry in entries):
        return None
    spec = CONNECTORS[connector]
    own_side = spec.sink if is_sink else spec.source
    if own_side is None:
        return None
    known = options_for_sink(connector) if is_sink else options_for_source(connector)
    said: dict[str, str] = {"connector": f"'connector' = '{connector}'"}
    for entry in entries:
        foreign = foreign_option(entry, connector)
        ours = ForeignOption(entry.key) if foreign is None else foreign
        if foreign is None or any(ours.key == own.key for own in known):
            said.setdefault(ours.key, ours.written(entry))
    for own in own_side:
        if own.is_required and own.key not in said and own.alternative not in said:
            said[own.key] = own.shown
    return f"WITH ({', '.join(said.values())})"
