"""Names of other systems, and what is written here: functions, columns, options and connectors.

Words that no grammar rule reads are in ``windrow.sql.foreign_words``; these are names, which only the checks know to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.model.options import Option

FUNCTIONS: dict[str, str] = {
    "group_concat": "STRING_AGG({0}, ',')",
    "collect": "COLLECT_LIST({0})",
    "approx_quantiles": "PERCENTILE_APPROX({0}, 0.5)",
    "quantile": "PERCENTILE_APPROX({0}, {1})",
    "topk": "slice(sort_array(COLLECT_LIST({0}), false), 1, {1})",
    "topkdistinct": "slice(sort_array(COLLECT_SET({0}), false), 1, {1})",
    "top": "LIMIT {0} at the end of the query",
    "safe_divide": "{0} / {1}, which gives NULL for a division by zero",
    "convert": "CAST(value AS type)",
    "proctime": "_timestamp, the time at which a row arrived",
    "current_watermark": "windrow run, whose status shows the watermark; rows have only their _event_time",
    "tumble_rowtime": "_event_time: the output of a window has the last instant of it",
    "hop_rowtime": "_event_time: the output of a window has the last instant of it",
    "session_rowtime": "_event_time: the output of a window has the last instant of it",
    "tumble_proctime": "_timestamp, the time at which a row arrived",
    "tumblingwindow": "WINDOW TUMBLING(5m), a clause behind FROM",
    "hoppingwindow": "WINDOW SLIDING(10m, 5m), a clause behind FROM",
    "slidingwindow": "WINDOW SLIDING(10m, 1m), a clause behind FROM",
    "sessionwindow": "WINDOW SESSION(5m), a clause behind FROM",
    "product": "EXP(SUM(LN({0}))), of numbers above zero",
    "map_agg": "MAP_FROM_ENTRIES(ARRAY_AGG(STRUCT({0}, {1})))",
    "json_object_agg": "TO_JSON(MAP_FROM_ENTRIES(ARRAY_AGG(STRUCT({0}, {1}))))",
    "jsonb_object_agg": "TO_JSON(MAP_FROM_ENTRIES(ARRAY_AGG(STRUCT({0}, {1}))))",
    "jsonb_build_object": "TO_JSON(NAMED_STRUCT({0}, {1}))",
    "json_build_object": "TO_JSON(NAMED_STRUCT({0}, {1}))",
    "jsonb_array_elements": "FROM_JSON({0}, 'ARRAY<STRING>') in LATERAL VIEW explode(...)",
    "json_array": "TO_JSON(ARRAY({0}, {1}))",
    "json_string": "TO_JSON({0})",
    "is_json": "{0} IS JSON",
    "regexp_match": "REGEXP_EXTRACT({0}, {1}, 0)",
    "regexp_matches": "REGEXP_EXTRACT_ALL({0}, {1}, 0)",
    "string_to_array": "SPLIT({0}, {1}), whose second text is a regular expression",
    "array_sum": "AGGREGATE({0}, 0, (total, item) -> total + item)",
    "age": "{0} - {1}",
    "getdate": "NOW()",
    "sysdate": "NOW()",
    "date_bin": "WINDOW TUMBLING(5m), with _window_start in SELECT",
    "tumbling_window": "WINDOW TUMBLING(5m)",
    "timestamp_diff": "TIMESTAMPDIFF({2}, {1}, {0})",
    "datetime_diff": "TIMESTAMPDIFF({2}, {1}, {0})",
    "timestamp_add": "{0} + {1}",
    "timestamp_sub": "{0} - {1}",
    "from_unixtime_millis": "TIMESTAMP_MILLIS({0})",
    "parse_timestamp": "TO_TIMESTAMP({1}, {0}), with a pattern such as 'yyyy-MM-dd HH:mm:ss'",
    "stringtotimestamp": "TO_TIMESTAMP({0}, {1})",
    "format_timestamp": "DATE_FORMAT({1}, {0}), with a pattern such as 'yyyy-MM-dd HH:mm:ss'",
    "timestamptostring": "DATE_FORMAT({0}, {1})",
    "strftime": "DATE_FORMAT({0}, {1}), with a pattern such as 'yyyy-MM-dd HH:mm:ss'",
    "json_extract": "GET_JSON_OBJECT({0}, {1})",
    "json_extract_scalar": "GET_JSON_OBJECT({0}, {1})",
    "extractjsonfield": "GET_JSON_OBJECT({0}, {1})",
    "from_iso8601_timestamp": "CAST({0} AS TIMESTAMP)",
    "to_unixtime": "UNIX_SECONDS({0})",
    "str_to_date": "TO_TIMESTAMP({0}, {1}), with a pattern such as 'yyyy-MM-dd HH:mm:ss'",
    "current_row_timestamp": "_timestamp, the time at which a row arrived",
    "date_bucket": "WINDOW TUMBLING(5m), with _window_start in SELECT",
    "tostartofinterval": "WINDOW TUMBLING(5m), with _window_start in SELECT",
    "tostartofminute": "DATE_TRUNC('minute', {0})",
    "tostartofhour": "DATE_TRUNC('hour', {0})",
    "tostartofday": "DATE_TRUNC('day', {0})",
    "todatetime": "CAST({0} AS TIMESTAMP)",
    "datetime": "CAST({0} AS TIMESTAMP)",
    "uniq": "APPROX_COUNT_DISTINCT({0})",
    "uniqexact": "COUNT(DISTINCT {0})",
    "quantile_cont": "PERCENTILE_CONT({1}) WITHIN GROUP (ORDER BY {0})",
    "argmax": "MAX_BY({0}, {1})",
    "argmin": "MIN_BY({0}, {1})",
    "anylast": "LAST({0})",
    "grouparray": "COLLECT_LIST({0})",
    "groupuniqarray": "COLLECT_SET({0})",
    "sumif": "SUM({0}) FILTER (WHERE {1})",
    "avgif": "AVG({0}) FILTER (WHERE {1})",
    "multiif": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "tostring": "CAST({0} AS STRING)",
    "toint32": "CAST({0} AS INT)",
    "toint64": "CAST({0} AS BIGINT)",
    "tofloat64": "CAST({0} AS DOUBLE)",
    "json_extract_path_text": "GET_JSON_OBJECT({0}, '$.path')",
    "to_jsonb": "TO_JSON({0})",
    "json_query_array": "FROM_JSON({0}, 'ARRAY<STRING>')",
    "farm_fingerprint": "XXHASH64({0})",
    "murmur_hash": "HASH({0})",
    "from_hex": "UNHEX({0})",
    "to_base64": "BASE64({0})",
    "is_nan": "ISNAN({0})",
    "is_inf": "ABS({0}) = CAST('Infinity' AS DOUBLE)",
    "truncate": "FLOOR({0}), or ROUND({0}, {1})",
    "generate_uuid": "UUID()",
    "gen_random_uuid": "UUID()",
    "newid": "UUID()",
    "format": "FORMAT_STRING({0}, {1})",
    "ends_with": "ENDSWITH({0}, {1})",
    "contains_substr": "CONTAINS({0}, {1})",
    "charindex": "LOCATE({0}, {1})",
    "url_extract_host": "PARSE_URL({0}, 'HOST')",
    "rownum": "ROW_NUMBER() OVER (PARTITION BY ... ORDER BY _event_time)",
    "getutcdate": "NOW()",
    "systimestamp": "NOW()",
    "sysutcdatetime": "NOW()",
    "datename": "DATE_FORMAT({1}, 'EEEE'), or another pattern",
    "eomonth": "LAST_DAY({0})",
    "isnumeric": "TRY_CAST({0} AS DOUBLE) IS NOT NULL",
    "as_value": "{0}",
    "try": "{0}: what cannot be computed is NULL",
    "offset": "items[{0}]",
    "safe_offset": "items[{0}]",
    "ordinal": "items[n - 1]: the first item is items[0]",
    "generate_series": "SEQUENCE({0}, {1}) in LATERAL VIEW explode(...)",
}
"""Functions that are not here, and the text to write; ``{0}``, ``{1}``... are the arguments."""

COLUMNS: dict[str, str] = {
    "rowtime": "_event_time",
    "rowkey": "_key",
    "rowpartition": "_partition",
    "rowoffset": "_offset",
    "windowstart": "_window_start",
    "windowend": "_window_end",
    "window_start": "_window_start",
    "window_end": "_window_end",
    "window_time": "_event_time",
    "proctime": "_timestamp",
    "processing_time": "_timestamp",
    "current_time": "CURRENT_TIMESTAMP",
    "localtime": "CURRENT_TIMESTAMP",
    "sysdate": "CURRENT_TIMESTAMP",
    "systimestamp": "CURRENT_TIMESTAMP",
}
"""Columns that other systems give every row, and the system columns that hold the same."""

CONNECTOR_NAMES: dict[str, str] = {
    "upsert-kafka": "kafka",
    "kafka_source": "kafka",
    "kafka_sink": "kafka",
    "filesystem": "files",
    "file": "files",
    "file_source": "files",
    "file_sink": "files",
    "jdbc": "postgres",
    "postgresql": "postgres",
    "database_sink": "postgres",
    "datagen": "generator",
    "faker": "generator",
    "rate": "generator",
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

    def hint(self, value: str) -> str:
        """What to write or to remove."""
        if self.needless:
            return f"leave it out: {self.needless}"
        spelled = self.values.get(value.lower(), self.values.get("", value))
        return f"write {self.clause.format(spelled)}" if self.clause else f"write '{self.key}' = '{spelled}'"


_FORMATS = {"json": "json", "kafka": "json", "delimited": "csv", "avro": "avro", "json_sr": "json"}
_LATE = {"dead_letter_queue": "DEAD_LETTER", "dlq": "DEAD_LETTER", "discard": "DROP", "side_output": "DEAD_LETTER"}

OPTIONS: dict[str, ForeignOption] = {
    "kafka_topic": ForeignOption("topic"),
    "topic.name": ForeignOption("topic"),
    "topics": ForeignOption("topic"),
    "brokers": ForeignOption("bootstrap.servers"),
    "bootstrap_servers": ForeignOption("bootstrap.servers"),
    "consumer.group": ForeignOption("group.id"),
    "consumer.group.id": ForeignOption("group.id"),
    "consumer_group": ForeignOption("group.id"),
    "value.serializer": ForeignOption("format", _FORMATS),
    "schema.value.format": ForeignOption("format", _FORMATS),
    "file.path": ForeignOption("path"),
    "file.format": ForeignOption("format"),
    "file.wait.timeout": ForeignOption(needless="new files are waited for as long as the job runs"),
    "file.retry.interval": ForeignOption(needless="new files are waited for as long as the job runs"),
    "file.watch": ForeignOption(needless="new files are waited for as long as the job runs"),
    "watching": ForeignOption(needless="new files are waited for as long as the job runs"),
    "watch": ForeignOption(needless="new files are waited for as long as the job runs"),
    "event.time.type": ForeignOption("event.time.format"),
    "idle.timeout": ForeignOption("watermark.idle_timeout"),
    "watermark.idle.timeout": ForeignOption("watermark.idle_timeout"),
    "watermark.max.out.of.orderness": ForeignOption("watermark.delay"),
    "allowed_lateness": ForeignOption(clause="ALLOWED_LATENESS {0} in the WINDOW clause of the query"),
    "datasource.topic.name": ForeignOption("topic"),
    "value_format": ForeignOption("format", _FORMATS),
    "value.format": ForeignOption("format", _FORMATS),
    "key_format": ForeignOption("key.format", _FORMATS),
    "timestamp": ForeignOption("event.time.field"),
    "timestamp_format": ForeignOption("event.time.format"),
    "scan.startup.mode": ForeignOption(
        "auto.offset.reset",
        {"earliest-offset": "earliest", "latest-offset": "latest", "group-offsets": "earliest", "timestamp": "earliest"},
    ),
    "scan.startup.timestamp-millis": ForeignOption("starting.timestamp"),
    "startingoffsets": ForeignOption("auto.offset.reset"),
    "subscribe": ForeignOption("topic"),
    "kafka.bootstrap.servers": ForeignOption("bootstrap.servers"),
    "table-name": ForeignOption("table"),
    "username": ForeignOption("user"),
    "rows-per-second": ForeignOption("rows.per.second"),
    "rowspersecond": ForeignOption("rows.per.second"),
    "number-of-rows": ForeignOption("rows"),
    "watermark.max_out_of_orderness": ForeignOption("watermark.delay"),
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
    "allowed.lateness": ForeignOption(clause="ALLOWED_LATENESS {0} in the WINDOW clause of the query"),
}
"""Options by the names that other systems give them."""

_PROPERTIES = "properties."


def _keys_of(spec: ConnectorSpec) -> frozenset[str]:
    return frozenset(own.key for own in (*(spec.source or ()), *(spec.sink or ())))


_KNOWN_KEYS = frozenset[str]().union(*map(_keys_of, CONNECTORS.own().values()))


def function_hint(name: str, args: Sequence[str]) -> str | None:
    """The text to write for a function of another system.

    >>> function_hint("PROCTIME", [])
    'write _timestamp, the time at which a row arrived'
    """
    text = FUNCTIONS.get(name.lower())
    return None if text is None else f"write {text.format(*args, *('...' for _ in range(3)))}"


def foreign_option(entry: Option) -> ForeignOption | None:
    """What an option of another system is here, if it is one that is known."""
    key = entry.key.lower()
    if key in OPTIONS:
        return OPTIONS[key]
    if key.startswith(_PROPERTIES):
        # Flink's way to hand options to the client.
        inner = key.removeprefix(_PROPERTIES)
        return ForeignOption(inner if inner in ("bootstrap.servers", "group.id", "auto.offset.reset") else f"kafka.{inner}")
    if key.endswith(".type") and (entry.value.lower() in CONNECTOR_NAMES or entry.value.lower() in CONNECTORS):
        return ForeignOption("connector", CONNECTOR_NAMES)
    # 'orders.topic' = ..., where the name of the stream stands before the key.
    own = key.partition(".")[2]
    return OPTIONS.get(own) or (ForeignOption(own) if own in _KNOWN_KEYS else None)


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
