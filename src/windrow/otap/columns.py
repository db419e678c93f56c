"""The columns of a stream for each OTAP table. Imports no library: every check reads this."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Array, ColumnDef, DataType, Map, Struct

TIME, PART_ID = "time", "_part_id"

_TEXTS = Map(STRING, STRING)
_RESOURCE = Struct((("id", BIGINT), ("schema_url", STRING), ("dropped_attributes_count", BIGINT)))
_SCOPE = Struct((("id", BIGINT), ("name", STRING), ("version", STRING), ("dropped_attributes_count", BIGINT)))
_BODY = Struct((("type", INT), ("str", STRING), ("int", BIGINT), ("double", DOUBLE), ("bool", BOOLEAN), ("bytes", BINARY), ("ser", BINARY)))
_STATUS = Struct((("code", INT), ("status_message", STRING)))
_BUCKETS = Struct((("offset", INT), ("bucket_counts", Array(BIGINT))))
_QUANTILES = Array(Struct((("quantile", DOUBLE), ("value", DOUBLE))))

_EVENT_ITEM = Struct((("time_unix_nano", BIGINT), ("name", STRING), ("dropped_attributes_count", BIGINT), ("attributes", _TEXTS)))
_LINK_ITEM = Struct(
    (("trace_id", STRING), ("span_id", STRING), ("trace_state", STRING), ("dropped_attributes_count", BIGINT), ("attributes", _TEXTS))
)
_EXEMPLAR_ITEM = Struct(
    (
        ("time_unix_nano", BIGINT),
        ("int_value", BIGINT),
        ("double_value", DOUBLE),
        ("span_id", STRING),
        ("trace_id", STRING),
        ("attributes", _TEXTS),
    )
)

# Every stream starts with these and ends with what its rows' resource and scope say.
_HEAD: dict[str, DataType] = {TIME: TIMESTAMP, PART_ID: STRING, "id": BIGINT}
_TAIL: dict[str, DataType] = {
    "attributes": _TEXTS,
    "resource": _RESOURCE,
    "resource_attributes": _TEXTS,
    "scope": _SCOPE,
    "scope_attributes": _TEXTS,
}
_METRIC: dict[str, DataType] = {
    "metric_name": STRING,
    "metric_type": INT,
    "metric_unit": STRING,
    "metric_description": STRING,
    "aggregation_temporality": INT,
}
_POINT: dict[str, DataType] = {"parent_id": BIGINT, "start_time_unix_nano": BIGINT, "time_unix_nano": BIGINT}
_LOG: dict[str, DataType] = {
    "time_unix_nano": BIGINT,
    "observed_time_unix_nano": BIGINT,
    "trace_id": STRING,
    "span_id": STRING,
    "severity_number": INT,
    "severity_text": STRING,
    "body": _BODY,
    "event_name": STRING,
    "flags": BIGINT,
    "schema_url": STRING,
    "dropped_attributes_count": BIGINT,
}
_SPAN: dict[str, DataType] = {
    "start_time_unix_nano": BIGINT,
    "duration_time_unix_nano": BIGINT,
    "trace_id": STRING,
    "span_id": STRING,
    "trace_state": STRING,
    "parent_span_id": STRING,
    "name": STRING,
    "kind": INT,
    "status": _STATUS,
    "schema_url": STRING,
    "dropped_attributes_count": BIGINT,
    "dropped_events_count": BIGINT,
    "dropped_links_count": BIGINT,
    "events": Array(_EVENT_ITEM),
    "links": Array(_LINK_ITEM),
}
_SPAN_EVENT: dict[str, DataType] = {
    "parent_id": BIGINT,
    "time_unix_nano": BIGINT,
    "name": STRING,
    "dropped_attributes_count": BIGINT,
    "trace_id": STRING,
    "span_id": STRING,
    "span_name": STRING,
}
# trace_id and span_id are those that the link leads to.
_SPAN_LINK: dict[str, DataType] = {
    "parent_id": BIGINT,
    "trace_id": STRING,
    "span_id": STRING,
    "trace_state": STRING,
    "dropped_attributes_count": BIGINT,
    "from_trace_id": STRING,
    "from_span_id": STRING,
    "span_name": STRING,
}
_EXEMPLARS: dict[str, DataType] = {"exemplars": Array(_EXEMPLAR_ITEM)}
_NUMBER: dict[str, DataType] = {**_POINT, "int_value": BIGINT, "double_value": DOUBLE, "flags": BIGINT}
_COUNTED: dict[str, DataType] = {**_POINT, "count": BIGINT, "sum": DOUBLE, "flags": BIGINT}
_HISTOGRAM: dict[str, DataType] = {
    **_COUNTED,
    "bucket_counts": Array(BIGINT),
    "explicit_bounds": Array(DOUBLE),
    "min": DOUBLE,
    "max": DOUBLE,
}
_EXP_HISTOGRAM: dict[str, DataType] = {
    **_COUNTED,
    "scale": INT,
    "zero_count": BIGINT,
    "positive": _BUCKETS,
    "negative": _BUCKETS,
    "min": DOUBLE,
    "max": DOUBLE,
}
_EXEMPLAR: dict[str, DataType] = {
    "parent_id": BIGINT,
    "time_unix_nano": BIGINT,
    "int_value": BIGINT,
    "double_value": DOUBLE,
    "span_id": STRING,
    "trace_id": STRING,
}

_OWN: dict[str, dict[str, DataType]] = {
    "logs": _LOG,
    "spans": _SPAN,
    "span_events": _SPAN_EVENT,
    "span_links": _SPAN_LINK,
    "number_data_points": {**_NUMBER, **_EXEMPLARS, **_METRIC},
    "summary_data_points": {**_COUNTED, "quantile": _QUANTILES, **_METRIC},
    "histogram_data_points": {**_HISTOGRAM, **_EXEMPLARS, **_METRIC},
    "exp_histogram_data_points": {**_EXP_HISTOGRAM, **_EXEMPLARS, **_METRIC},
    "number_dp_exemplars": {**_EXEMPLAR, **_METRIC},
    "histogram_dp_exemplars": {**_EXEMPLAR, **_METRIC},
    "exp_histogram_dp_exemplars": {**_EXEMPLAR, **_METRIC},
}

TABLES: tuple[str, ...] = tuple(_OWN)
"""The tables that can be a stream: those whose rows have a time, and links, which count when their span does."""


def columns_of(options: Mapping[str, str]) -> tuple[ColumnDef, ...]:
    """What a stream with these options has.

    >>> [column.name for column in columns_of({"table": "logs"})][:4]
    ['time', '_part_id', 'id', 'time_unix_nano']
    """
    own = _OWN.get(options.get("table", "").lower(), {})
    return tuple(ColumnDef(name, type_) for name, type_ in {**_HEAD, **own, **_TAIL}.items()) if own else ()
