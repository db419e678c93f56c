"""Calls as other dialects spell them, read as the call here that means exactly the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.model.expr import Binary, Call, Cast, Expr, Interval, Literal, SortKey
from windrow.model.types import STRING, TIMESTAMP
from windrow.sql.lengths import parse_length
from windrow.sql.time_patterns import from_percents, from_postgres
from windrow.sql.words import UNIT_SPELLINGS

_NAMES = {
    "approx_distinct": "approx_count_distinct",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "array_cat": "concat",
    "as_map": "map_from_arrays",
    "correlation": "corr",
    "json_keys": "json_object_keys",
    "regexp_split_to_array": "split",
    "url_encode_param": "url_encode",
    "url_decode_param": "url_decode",
    "array_concat": "concat",
    "array_reverse": "reverse",
    "array_to_string": "array_join",
    "countif": "count_if",
    "iff": "if",
    "iif": "if",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
    "row": "struct",
    "starts_with": "startswith",
    "to_base64": "base64",
    "to_jsonb": "to_json",
    "jsonb_array_length": "json_array_length",
    "strpos": "instr",
    "week": "weekofyear",
}
"""Functions whose arguments and results are those of another name."""

_SHARED_HASHES = {f"sha{bits}": bits for bits in (224, 256, 384, 512)}
_PERCENTILES = frozenset({"percentile_cont", "percentile_disc"})
_APPROXIMATE = frozenset({"approx_percentile", "percentile_approx"})


def spelled_here(call: Call) -> Expr:
    """The call in the words of this dialect; one that is ours already stays as it is.

    >>> spelled_here(Call("STRPOS", (Literal("abc"), Literal("b"))))
    Call(name='instr', args=(Literal(value='abc'), Literal(value='b')), distinct=False, where=None, within_group=(), ignore_nulls=False)
    """
    name = call.name.lower()
    if name == "convert_tz" and len(call.args) == 3:
        # The zones stand before the time in Spark's function.
        time, *zones = call.args
        return replace(call, name="convert_timezone", args=(*zones, time))
    if name in _NAMES:
        return replace(call, name=_NAMES[name])
    if name in _SHARED_HASHES and len(call.args) == 1:
        return replace(call, name="sha2", args=(*call.args, Literal(_SHARED_HASHES[name])))
    rule = _RULES.get(name)
    return call if rule is None else rule(call)


def _percentile(call: Call) -> Call:
    """PERCENTILE_CONT(x, 0.5) of BigQuery is PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)."""
    if len(call.args) != 2 or call.within_group:
        return call
    value, share = call.args if _is_share(call.args[1]) else reversed(call.args)
    return replace(call, args=(share,), within_group=(SortKey(value, span=value.span),)) if _is_share(share) else call


def _is_share(expr: Expr) -> bool:
    is_number = isinstance(expr, Literal) and not isinstance(expr.value, bool | str) and expr.value is not None
    return is_number and isinstance(expr, Literal) and 0 <= expr.value <= 1


def _approximate(call: Call) -> Call:
    """APPROX_PERCENTILE(0.5) WITHIN GROUP (ORDER BY x); a second number is an error bound, which is fixed here."""
    if len(call.within_group) != 1 or call.within_group[0].descending or not 1 <= len(call.args) <= 2:
        return call
    return replace(call, args=(call.within_group[0].expr, call.args[0]), within_group=())


def _array_length(call: Call) -> Call:
    """PostgreSQL's has a dimension, of which arrays here have one."""
    is_plain = len(call.args) == 1 or (len(call.args) == 2 and call.args[1] == Literal(1))
    return replace(call, name="cardinality", args=call.args[:1]) if is_plain else call


def _to_hex(call: Call) -> Expr:
    return Call("lower", (replace(call, name="hex"),), span=call.span, name_span=call.name_span) if len(call.args) == 1 else call


def _timestamp_ltz(call: Call) -> Call:
    """Flink's TO_TIMESTAMP_LTZ(n, 3) reads milliseconds, TO_TIMESTAMP_LTZ(n, 0) seconds."""
    names = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}
    match call.args:
        case (value, Literal(value=int(digits))) if digits in names:
            return replace(call, name=names[digits], args=(value,))
        case _:
            return call


def _truncated(call: Call) -> Call:
    """TIMESTAMP_TRUNC(ts, HOUR) of BigQuery."""
    if len(call.args) != 2:
        return call
    value, unit = call.args
    word = UNIT_SPELLINGS.get(str(getattr(unit, "name", "")).upper())
    return call if word is None else replace(call, name="date_trunc", args=(Literal(word, span=unit.span), value))


# Functions whose second argument is a pattern, and what they are called here.
_PATTERNED = {
    "to_char": "date_format",
    "str_to_date": "to_timestamp",
    **{name: name for name in ("date_format", "to_timestamp", "to_date", "try_to_timestamp", "from_unixtime", "unix_timestamp")},
}


def _patterned(call: Call) -> Call:
    """TO_CHAR(ts, 'YYYY-MM-DD HH24:MI'), DATE_FORMAT(ts, '%Y-%m-%d'): the pattern of PostgreSQL or MySQL, where it can be no other."""
    match call.args:
        case (value, Literal(value=str(pattern)) as written):
            spelled = from_postgres(pattern) or from_percents(pattern, is_mysql=True)
        case _:
            return call
    if spelled is None:
        return call
    return replace(call, name=_PATTERNED[call.name.lower()], args=(value, replace(written, value=spelled)))


# Fields of a time that are a function of Spark's, and those with another name.
_WHOLE_FIELDS = {"epoch": "unix_seconds", "date": "to_date"}
_FIELD_NAMES = {"isodow": "dow_iso", "isoyear": "yearofweek"}


def _field(call: Call) -> Call:
    """EXTRACT(EPOCH FROM ts), DATE_PART('isodow', ts) of PostgreSQL, EXTRACT(DATE FROM ts) of BigQuery."""
    match call.args:
        case (Literal(value=str(field)), value) if field.lower() in _WHOLE_FIELDS:
            return replace(call, name=_WHOLE_FIELDS[field.lower()], args=(value,))
        case (Literal(value=str(field)) as written, value) if field.lower() in _FIELD_NAMES:
            return replace(call, args=(replace(written, value=_FIELD_NAMES[field.lower()]), value))
        case _:
            return call


def _json_aggregate(call: Call) -> Expr:
    """JSONB_AGG(x): the array of the values, as JSON text."""
    items = replace(call, name="array_agg")
    return Call("to_json", (items,), span=call.span, name_span=call.name_span) if len(call.args) == 1 else call


def _map_aggregate(call: Call) -> Expr:
    """MAP_AGG(key, value), and JSON_OBJECT_AGG, which gives its text."""
    if len(call.args) != 2:
        return call
    entries = replace(call, name="array_agg", args=(Call("struct", call.args, span=call.span),))
    made = Call("map_from_entries", (entries,), span=call.span, name_span=call.name_span)
    return made if call.name.lower() == "map_agg" else Call("to_json", (made,), span=call.span, name_span=call.name_span)


def _without_precision(call: Call) -> Call:
    """CURRENT_TIMESTAMP(3): every time has microseconds here."""
    match call.args:
        case (Literal(value=int(digits)),) if 0 <= digits <= _MOST_DIGITS:
            return replace(call, args=())
        case _:
            return call


def _moved(call: Call) -> Expr:
    """DATE_ADD(ts, INTERVAL 1 DAY) of MySQL and BigQuery; Spark's own moves a date by a number of days."""
    match call.args:
        case (time, (Interval() | Call(name="make_ym_interval")) as length):
            return Binary("-" if call.name.lower() in _BACK else "+", time, length, span=call.span)
        case _:
            return call


def _split_index(call: Call) -> Call:
    """Flink's SPLIT_INDEX('a,b', ',', 0): the separator is a text, and what is not there is NULL."""
    match call.args:
        case (text, Literal(value=str(separator)) as written, place):
            pattern = replace(written, value=f"\\Q{separator}\\E")
            pieces = Call("split", (text, pattern), span=call.span, name_span=call.name_span)
            return replace(call, name="get", args=(pieces, place))
        case _:
            return call


def _from_base64(call: Call) -> Expr:
    """FROM_BASE64 of Flink and MySQL gives text."""
    return Cast(replace(call, name="unbase64"), STRING, span=call.span)


def _insert(call: Call) -> Call:
    """INSERT('abc', 2, 1, 'x') of MySQL and ksqlDB is OVERLAY('abc' PLACING 'x' FROM 2 FOR 1)."""
    match call.args:
        case (text, start, length, new):
            return replace(call, name="overlay", args=(text, new, start, length))
        case _:
            return call


def _bucket(call: Call) -> Call:
    """TIME_BUCKET('5 minutes', ts) of TimescaleDB, DATE_BIN('5 minutes', ts, origin) of PostgreSQL."""
    match call.args:
        case ((Literal(value=str(text)) as size), *rest) if (length := parse_length(text)) is not None:
            call = replace(call, args=(Interval(length, span=size.span), *rest))
        case _:
            pass
    match call.args:
        case (step, time, Literal(value=str()) as origin):
            call = replace(call, args=(step, time, Cast(origin, TIMESTAMP, span=origin.span)))
        case _:
            pass
    return replace(call, name="time_bucket") if call.name.lower() == "date_bin" else call


_MOST_DIGITS = 9
_BACK = frozenset({"date_sub", "timestamp_sub", "datetime_sub"})
_RULES: dict[str, Callable[[Call], Expr]] = {
    **dict.fromkeys(_PERCENTILES, _percentile),
    **dict.fromkeys(_APPROXIMATE, _approximate),
    **dict.fromkeys(_PATTERNED, _patterned),
    **dict.fromkeys(("timestamp_trunc", "datetime_trunc"), _truncated),
    **dict.fromkeys(("jsonb_agg", "json_agg", "json_arrayagg"), _json_aggregate),
    **dict.fromkeys(("map_agg", "json_object_agg", "jsonb_object_agg", "json_objectagg"), _map_aggregate),
    **dict.fromkeys(("current_timestamp", "localtimestamp", "now"), _without_precision),
    **dict.fromkeys((*_BACK, "date_add", "timestamp_add", "datetime_add"), _moved),
    **dict.fromkeys(("date_part", "datepart"), _field),
    "array_length": _array_length,
    "from_base64": _from_base64,
    "insert": _insert,
    "split_index": _split_index,
    **dict.fromkeys(("time_bucket", "date_bin"), _bucket),
    "to_hex": _to_hex,
    "to_timestamp_ltz": _timestamp_ltz,
}
