"""The tables of the OTAP data model as the Parquet exporter writes them: columns, relations and payload numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

PART_ID = "_part_id"
ID, PARENT_ID = "id", "parent_id"

_F = pa.field
_TIME, _LENGTH = pa.timestamp("ns"), pa.duration("ns")
_TEXT, _BYTES, _REAL, _WHOLE = pa.utf8(), pa.binary(), pa.float64(), pa.int64()
_U8, _U16, _U32, _U64, _I32 = pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int32()
TRACE_ID, SPAN_ID = pa.binary(16), pa.binary(8)

_RESOURCE = pa.struct([_F("id", _U16), _F("schema_url", _TEXT), _F("dropped_attributes_count", _U32)])
_SCOPE = pa.struct([_F("id", _U16), _F("name", _TEXT), _F("version", _TEXT), _F("dropped_attributes_count", _U32)])
_VALUES = [_F("str", _TEXT), _F("int", _WHOLE), _F("double", _REAL), _F("bool", pa.bool_()), _F("bytes", _BYTES), _F("ser", _BYTES)]
_ANY = pa.struct([_F("type", _U8), *_VALUES])
_BUCKETS = pa.struct([_F("offset", _I32), _F("bucket_counts", pa.list_(_F("item", _U64, False)))])
_ROOT = [_F("id", _U32), _F("resource", _RESOURCE), _F("scope", _SCOPE), _F("schema_url", _TEXT)]
_POINT = [_F("id", _U32), _F("parent_id", _U32), _F("start_time_unix_nano", _TIME), _F("time_unix_nano", _TIME)]

ATTRIBUTES = pa.schema([_F("parent_id", _U32), _F("key", _TEXT, False), _F("type", _U8, False), *_VALUES])
_EXEMPLARS = pa.schema(
    [
        _F("id", _U32),
        _F("parent_id", _U32),
        _F("time_unix_nano", _TIME),
        _F("int_value", _WHOLE),
        _F("double_value", _REAL),
        _F("span_id", SPAN_ID),
        _F("trace_id", TRACE_ID),
    ]
)

# Types of an attribute's value or a log's body, by the number in the column "type".
EMPTY, STR, INT, DOUBLE, BOOL, MAP, SLICE, BYTES = range(8)


@dataclass(frozen=True)
class TableKind:
    """One folder of the exporter. ``parent`` is the table whose ``id`` stands in ``parent_id``.

    Resource and scope attributes have no entry in ``parent``: they belong to ``resource.id`` and ``scope.id`` of a root table.
    """

    name: str
    payload: int
    schema: pa.Schema
    parent: str | None = None

    @property
    def is_attributes(self) -> bool:
        return self.schema is ATTRIBUTES

    @property
    def is_root(self) -> bool:
        """Whether its rows say which resource and scope they come from; the ids of such a table have 16 bits on the wire."""
        return "resource" in self.schema.names


def _attributes(name: str, payload: int, parent: str | None) -> TableKind:
    return TableKind(name, payload, ATTRIBUTES, parent)


_LOGS = pa.schema(
    [
        *_ROOT,
        _F("time_unix_nano", _TIME, False),
        _F("observed_time_unix_nano", _TIME, False),
        _F("trace_id", TRACE_ID),
        _F("span_id", SPAN_ID),
        _F("severity_number", _I32),
        _F("severity_text", _TEXT),
        _F("body", _ANY),
        _F("dropped_attributes_count", _U32),
        _F("event_name", _TEXT),
        _F("flags", _U32),
    ]
)
_SPANS = pa.schema(
    [
        *_ROOT,
        _F("start_time_unix_nano", _TIME, False),
        _F("duration_time_unix_nano", _LENGTH, False),
        _F("trace_id", TRACE_ID, False),
        _F("span_id", SPAN_ID, False),
        _F("trace_state", _TEXT),
        _F("parent_span_id", SPAN_ID),
        _F("name", _TEXT, False),
        _F("kind", _I32),
        _F("dropped_attributes_count", _U32),
        _F("dropped_events_count", _U32),
        _F("dropped_links_count", _U32),
        _F("status", pa.struct([_F("code", _I32), _F("status_message", _TEXT)])),
    ]
)
_SPAN_EVENTS = pa.schema(
    [_F("id", _U32), _F("parent_id", _U32), _F("time_unix_nano", _TIME), _F("name", _TEXT, False), _F("dropped_attributes_count", _U32)]
)
_SPAN_LINKS = pa.schema(
    [
        _F("id", _U32),
        _F("parent_id", _U32),
        _F("trace_id", TRACE_ID),
        _F("span_id", SPAN_ID),
        _F("trace_state", _TEXT),
        _F("dropped_attributes_count", _U32),
    ]
)
_METRICS = pa.schema(
    [
        *_ROOT,
        _F("metric_type", _U8, False),
        _F("name", _TEXT, False),
        _F("description", _TEXT),
        _F("unit", _TEXT),
        _F("aggregation_temporality", _I32),
        _F("dropped_attributes_count", _U32),
    ]
)
_NUMBERS = pa.schema([*_POINT, _F("int_value", _WHOLE), _F("double_value", _REAL), _F("flags", _U32)])
_QUANTILE = pa.struct([_F("quantile", _REAL), _F("value", _REAL)])
_SUMMARIES = pa.schema([*_POINT, _F("count", _U64), _F("sum", _REAL), _F("quantile", pa.list_(_F("item", _QUANTILE))), _F("flags", _U32)])
_HISTOGRAMS = pa.schema(
    [
        *_POINT,
        _F("count", _U64),
        _F("sum", _REAL),
        _F("bucket_counts", pa.list_(_F("item", _U64, False))),
        _F("explicit_bounds", pa.list_(_F("item", _REAL))),
        _F("flags", _U32),
        _F("min", _REAL),
        _F("max", _REAL),
    ]
)
_EXP_HISTOGRAMS = pa.schema(
    [
        *_POINT,
        _F("count", _U64),
        _F("sum", _REAL),
        _F("scale", _I32),
        _F("zero_count", _U64),
        _F("positive", _BUCKETS),
        _F("negative", _BUCKETS),
        _F("flags", _U32),
        _F("min", _REAL),
        _F("max", _REAL),
    ]
)

_KINDS = (
    _attributes("resource_attrs", 1, None),
    _attributes("scope_attrs", 2, None),
    TableKind("univariate_metrics", 10, _METRICS),
    TableKind("number_data_points", 11, _NUMBERS, "univariate_metrics"),
    TableKind("summary_data_points", 12, _SUMMARIES, "univariate_metrics"),
    TableKind("histogram_data_points", 13, _HISTOGRAMS, "univariate_metrics"),
    TableKind("exp_histogram_data_points", 14, _EXP_HISTOGRAMS, "univariate_metrics"),
    _attributes("number_dp_attrs", 15, "number_data_points"),
    _attributes("summary_dp_attrs", 16, "summary_data_points"),
    _attributes("histogram_dp_attrs", 17, "histogram_data_points"),
    _attributes("exp_histogram_dp_attrs", 18, "exp_histogram_data_points"),
    TableKind("number_dp_exemplars", 19, _EXEMPLARS, "number_data_points"),
    TableKind("histogram_dp_exemplars", 20, _EXEMPLARS, "histogram_data_points"),
    TableKind("exp_histogram_dp_exemplars", 21, _EXEMPLARS, "exp_histogram_data_points"),
    _attributes("number_dp_exemplar_attrs", 22, "number_dp_exemplars"),
    _attributes("histogram_dp_exemplar_attrs", 23, "histogram_dp_exemplars"),
    _attributes("exp_histogram_dp_exemplar_attrs", 24, "exp_histogram_dp_exemplars"),
    _attributes("metric_attrs", 26, "univariate_metrics"),
    TableKind("logs", 30, _LOGS),
    _attributes("log_attrs", 31, "logs"),
    TableKind("spans", 40, _SPANS),
    _attributes("span_attrs", 41, "spans"),
    TableKind("span_events", 42, _SPAN_EVENTS, "spans"),
    TableKind("span_links", 43, _SPAN_LINKS, "spans"),
    _attributes("span_event_attrs", 44, "span_events"),
    _attributes("span_link_attrs", 45, "span_links"),
)

TABLES: dict[str, TableKind] = {kind.name: kind for kind in _KINDS}
"""Every table by its folder's name.

>>> TABLES["log_attrs"].parent, TABLES["logs"].is_root
('logs', True)
"""


# Rows of a table without a time of its own count when the rows do that they belong to.
_TIMED_BY = {"span_links": "spans"}


def timed_by(table: str) -> str:
    """The table whose rows say when those of another count.

    >>> timed_by("span_links"), timed_by("span_events")
    ('spans', 'span_events')
    """
    return _TIMED_BY.get(table, table)


def attributes_of(table: str) -> str | None:
    """The table with the attributes of another's rows.

    >>> attributes_of("number_data_points"), attributes_of("span_links"), attributes_of("log_attrs")
    ('number_dp_attrs', 'span_link_attrs', None)
    """
    return next((kind.name for kind in _KINDS if kind.is_attributes and kind.parent == table), None)
