"""Names of other systems, and what is written here: functions and columns.

Words that no grammar rule reads are in ``windrow.sql.foreign_words``; these are names, which only the checks know to be unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.model.window_kinds import SPELLINGS
from windrow.sql.time_patterns import from_percents

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
    "tumble_proctime": "_timestamp, the time at which a row arrived",
    "product": "EXP(SUM(LN({0}))), of numbers above zero",
    "jsonb_build_object": "TO_JSON(NAMED_STRUCT({0}, {1}))",
    "json_build_object": "TO_JSON(NAMED_STRUCT({0}, {1}))",
    "jsonb_array_elements": "FROM_JSON({0}, 'ARRAY<STRING>') in LATERAL VIEW explode(...)",
    "json_array": "TO_JSON(ARRAY({0}, {1}))",
    "jsonb_extract_path_text": "GET_JSON_OBJECT({0}, '$.path')",
    "json_array_contains": "ARRAY_CONTAINS(FROM_JSON({0}, 'ARRAY<INT>'), {1})",
    "json_items": "FROM_JSON({0}, 'ARRAY<STRING>')",
    "json_records": "FROM_JSON({0}, 'MAP<STRING,STRING>')",
    "is_json_string": "{0} IS JSON",
    "to_json_string": "TO_JSON({0})",
    "attr": "ANY_VALUE({0})",
    "timestampsub": "{2} - INTERVAL '{1}' {0}",
    "entries": "MAP_ENTRIES({0})",
    "split_to_map": "STR_TO_MAP({0}, {1}, {2})",
    "json_string": "TO_JSON({0})",
    "is_json": "{0} IS JSON",
    "regexp_contains": "{0} RLIKE {1}",
    "regexp_match": "REGEXP_EXTRACT({0}, {1}, 0)",
    "regexp_matches": "REGEXP_EXTRACT_ALL({0}, {1}, 0)",
    "string_to_array": "SPLIT({0}, {1}), whose second text is a regular expression",
    "array_slice": "SLICE({0}, {1}, length)",
    "hash_code": "HASH({0})",
    "map_union": "MAP_CONCAT({0}, {1})",
    "field": "ARRAY_POSITION(ARRAY({1}), {0})",
    "array_sum": "AGGREGATE({0}, 0, (total, item) -> total + item)",
    "age": "{0} - {1}",
    "getdate": "NOW()",
    "sysdate": "NOW()",
    "timestamp_diff": "TIMESTAMPDIFF({2}, {1}, {0})",
    "datetime_diff": "TIMESTAMPDIFF({2}, {1}, {0})",
    "timestamp_add": "{0} + {1}",
    "timestamp_sub": "{0} - {1}",
    "from_unixtime_millis": "TIMESTAMP_MILLIS({0})",
    "stringtotimestamp": "TO_TIMESTAMP({0}, {1})",
    "timestamptostring": "DATE_FORMAT({0}, {1})",
    "json_extract": "GET_JSON_OBJECT({0}, {1})",
    "json_extract_scalar": "GET_JSON_OBJECT({0}, {1})",
    "extractjsonfield": "GET_JSON_OBJECT({0}, {1})",
    "from_iso8601_timestamp": "CAST({0} AS TIMESTAMP)",
    "to_unixtime": "UNIX_SECONDS({0})",
    "str_to_date": "TO_TIMESTAMP({0}, {1}), with a pattern such as 'yyyy-MM-dd HH:mm:ss'",
    "current_row_timestamp": "_timestamp, the time at which a row arrived",
    "date_bucket": "time_bucket(INTERVAL '{1}' {0}, {2})",
    "tostartofinterval": "time_bucket({1}, {0})",
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
    "json_query_array": "FROM_JSON({0}, 'ARRAY<STRING>')",
    "farm_fingerprint": "XXHASH64({0})",
    "murmur_hash": "HASH({0})",
    "from_hex": "UNHEX({0})",
    "is_nan": "ISNAN({0})",
    "is_inf": "ABS({0}) = CAST('Infinity' AS DOUBLE)",
    "truncate": "FLOOR({0}), or ROUND({0}, {1})",
    "generate_uuid": "UUID()",
    "gen_random_uuid": "UUID()",
    "newid": "UUID()",
    "format": "FORMAT_STRING({all})",
    "row_to_json": "TO_JSON(STRUCT({0}.*))",
    "mz_now": "NOW(), the moment at which a row is read; rows that leave with time are what a WINDOW holds",
    "approx_top_count": "APPROX_TOP_K({0}, {1})",
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

_BY_COUNT: dict[tuple[str, int], str] = {
    ("age", 1): "NOW() - {0}",
    ("histogram", 1): "SELECT {0}, COUNT(*) ... GROUP BY {0}: a row for each value",
    ("latest_by_offset", 2): "reverse(slice(reverse(COLLECT_LIST({0})), 1, {1}))",
    ("earliest_by_offset", 2): "slice(COLLECT_LIST({0}), 1, {1})",
}
"""The same with so many arguments, where that says something else."""

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

ARRIVAL_TIMES = frozenset({"proctime", "proc_time", "processing_time", "ptime"})
"""What the time of arrival is often called."""

WINDOW_FUNCTIONS: dict[str, str] = {
    **{name.lower(): kind.word for name, kind in SPELLINGS.items()},
    "window": "TUMBLING",
    "session_window": "SESSION",
    "tumbling_window": "TUMBLING",
    "tumblingwindow": "TUMBLING",
    "hoppingwindow": "SLIDING",
    "slidingwindow": "SLIDING",
    "sessionwindow": "SESSION",
}
"""Functions of Flink, Spark and Azure Stream Analytics that group by a window, and what such a window is called here."""


# Functions with a pattern of strftime: what they are here, and which argument the pattern is.
_PATTERNED = {
    **dict.fromkeys(("parse_timestamp", "parse_datetime"), ("TO_TIMESTAMP", 0)),
    **dict.fromkeys(("format_timestamp", "format_datetime", "format_date"), ("DATE_FORMAT", 0)),
    "parse_date": ("TO_DATE", 0),
    "strftime": ("DATE_FORMAT", 1),
    "strptime": ("TO_TIMESTAMP", 1),
}


def _patterned(name: str, args: Sequence[str]) -> str | None:
    """The call with its pattern in Spark's letters.

    >>> _patterned("format_timestamp", ["'%Y-%m-%d'", "ts"])
    "DATE_FORMAT(ts, 'yyyy-MM-dd')"
    """
    if name not in _PATTERNED or len(args) != 2:
        return None
    ours, place = _PATTERNED[name]
    if not args[place].startswith("'") or (args[1 - place].startswith("'") and "%" not in args[place]):
        # ksqlDB's FORMAT_TIMESTAMP(ts, 'yyyy-MM-dd') has it last, in the letters of Java.
        return f"{ours}({args[0]}, {args[1]})"
    spelled = from_percents(args[place], is_mysql=False)
    return f"{ours}({args[1 - place]}, {spelled or args[place]})" + ("" if spelled else ", with a pattern such as 'yyyy-MM-dd HH:mm:ss'")


def is_foreign_function(name: str) -> bool:
    return name.lower() in FUNCTIONS or name.lower() in _PATTERNED or name.lower() in WINDOW_FUNCTIONS


def function_hint(name: str, args: Sequence[str]) -> str | None:
    """The text to write for a function of another system.

    >>> function_hint("PROCTIME", [])
    'write _timestamp, the time at which a row arrived'
    """
    patterned = _patterned(name.lower(), args)
    if patterned is not None:
        return f"write {patterned}"
    text = _BY_COUNT.get((name.lower(), len(args))) or FUNCTIONS.get(name.lower())
    return None if text is None else f"write {text.format(*args, *('...' for _ in range(3)), all=', '.join(args))}"
