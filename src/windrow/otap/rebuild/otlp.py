"""OTLP requests from the tables of one batch, as protobuf or as the JSON lines that collectors read and write."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1 import metrics_pb2 as m
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from windrow.otap import cbor
from windrow.otap.covers import RESOURCES, SCOPES
from windrow.otap.rebuild.collect import ROOTS, Tables
from windrow.otap.tables import BOOL, BYTES, DOUBLE, INT, MAP, SLICE, STR, attributes_of

Row = dict[str, Any]
REQUESTS: dict[str, Any] = {"logs": ExportLogsServiceRequest, "traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest}
_IDS = ("traceId", "spanId", "parentSpanId")
GAUGE, SUM, HISTOGRAM, EXP_HISTOGRAM, SUMMARY = range(1, 6)


def to_request(signal: str, tables: Tables) -> Message:
    """The rows of a batch by resource and scope."""
    rows = _Rows(tables)
    request = REQUESTS[signal]()
    groups: dict[tuple[int | None, int | None], tuple[Any, Any]] = {}
    for row in rows.of(ROOTS[signal]):
        resource, scope = row.get("resource") or {}, row.get("scope") or {}
        place = (resource.get("id"), scope.get("id"))
        if place not in groups:
            groups[place] = _group(request, signal, resource, scope, rows, groups)
            groups[place][1].schema_url = row.get("schema_url") or ""
        holder = groups[place][1]
        match signal:
            case "logs":
                holder.log_records.append(log_record(row, rows.attributes("log_attrs", row["id"])))
            case "traces":
                holder.spans.append(_whole_span(row, rows))
            case _:
                holder.metrics.append(_metric(row, rows))
    return request


def to_json_line(request: Message) -> str:
    """As the collector's file exporter writes it: ids in hexadecimal, enums as numbers."""
    return json.dumps(_with_hex_ids(MessageToDict(request, use_integers_for_enums=True)), separators=(",", ":"), ensure_ascii=False)


class _Rows:
    """The rows of tables as Python values, and attributes by owner."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._children: dict[str, dict[int, list[Row]]] = {}

    def of(self, table: str) -> list[Row]:
        if table not in self._tables:
            return []
        own = self._tables[table]
        columns = [column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column for column in own.columns]
        found: list[Row] = pa.Table.from_arrays(columns, names=own.column_names).to_pylist()
        return found

    def children(self, table: str, parent: int | None) -> list[Row]:
        if table not in self._children:
            by_parent = self._children[table] = {}
            for row in self.of(table):
                by_parent.setdefault(row["parent_id"], []).append(row)
        return [] if parent is None else self._children[table].get(parent, [])

    def attributes(self, table: str | None, parent: int | None) -> list[KeyValue]:
        return [] if table is None else [KeyValue(key=row["key"], value=any_value(row)) for row in self.children(table, parent)]


def _group(request: Any, signal: str, resource: Row, scope: Row, rows: _Rows, groups: Mapping[Any, tuple[Any, Any]]) -> tuple[Any, Any]:
    same = next((held for (number, _), held in groups.items() if number == resource.get("id")), None)
    if same is None:
        outer = getattr(request, {"logs": "resource_logs", "traces": "resource_spans", "metrics": "resource_metrics"}[signal]).add()
        dropped = resource.get("dropped_attributes_count") or 0
        attributes = rows.attributes(RESOURCES, resource.get("id"))
        outer.resource.CopyFrom(Resource(attributes=attributes, dropped_attributes_count=dropped))
        outer.schema_url = resource.get("schema_url") or ""
    else:
        outer = same[0]
    inner = getattr(outer, {"logs": "scope_logs", "traces": "scope_spans", "metrics": "scope_metrics"}[signal]).add()
    own = InstrumentationScope(
        name=scope.get("name") or "",
        version=scope.get("version") or "",
        attributes=rows.attributes(SCOPES, scope.get("id")),
        dropped_attributes_count=scope.get("dropped_attributes_count") or 0,
    )
    inner.scope.CopyFrom(own)
    return outer, inner


def any_value(row: Row | None) -> AnyValue:
    """By its type; the other columns must be ignored."""
    row = row or {}
    match row.get("type"):
        case kind if kind == STR:
            return AnyValue(string_value=row["str"] or "")
        case kind if kind == INT:
            return AnyValue(int_value=row["int"] or 0)
        case kind if kind == DOUBLE:
            return AnyValue(double_value=row["double"] or 0.0)
        case kind if kind == BOOL:
            return AnyValue(bool_value=bool(row["bool"]))
        case kind if kind == BYTES:
            return AnyValue(bytes_value=row["bytes"] or b"")
        case kind if kind in (MAP, SLICE) and row["ser"] is not None:
            try:
                return _nested(cbor.load(row["ser"]))
            except ValueError:
                return AnyValue()
        case _:
            return AnyValue()


def _nested(value: Any) -> AnyValue:
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case dict():
            pairs = [KeyValue(key=key, value=_nested(item)) for key, item in value.items()]
            return AnyValue(kvlist_value=KeyValueList(values=pairs))
        case list():
            return AnyValue(array_value=ArrayValue(values=[_nested(item) for item in value]))
        case _:
            return AnyValue(string_value=str(value))


def log_record(row: Row, attributes: list[KeyValue]) -> LogRecord:
    return LogRecord(
        time_unix_nano=row["time_unix_nano"] or 0,
        observed_time_unix_nano=row["observed_time_unix_nano"] or 0,
        trace_id=row["trace_id"] or b"",
        span_id=row["span_id"] or b"",
        severity_number=_enum(row["severity_number"]),
        severity_text=row["severity_text"] or "",
        body=any_value(row["body"]),
        attributes=attributes,
        dropped_attributes_count=row["dropped_attributes_count"] or 0,
        event_name=row.get("event_name") or "",
        flags=row["flags"] or 0,
    )


def span_record(row: Row, attributes: list[KeyValue]) -> Span:
    """Without its events and links."""
    status = row["status"] or {}
    start = row["start_time_unix_nano"] or 0
    return Span(
        trace_id=row["trace_id"] or b"",
        span_id=row["span_id"] or b"",
        trace_state=row["trace_state"] or "",
        parent_span_id=row["parent_span_id"] or b"",
        name=row["name"] or "",
        kind=_enum(row["kind"]),
        start_time_unix_nano=start,
        end_time_unix_nano=start + (row["duration_time_unix_nano"] or 0),
        attributes=attributes,
        dropped_attributes_count=row["dropped_attributes_count"] or 0,
        dropped_events_count=row["dropped_events_count"] or 0,
        dropped_links_count=row["dropped_links_count"] or 0,
        status=Status(code=_enum(status.get("code")), message=status.get("status_message") or ""),
    )


def span_event(row: Row, attributes: list[KeyValue]) -> Span.Event:
    return Span.Event(
        time_unix_nano=row["time_unix_nano"] or 0,
        name=row["name"] or "",
        attributes=attributes,
        dropped_attributes_count=row["dropped_attributes_count"] or 0,
    )


def span_link(row: Row, attributes: list[KeyValue]) -> Span.Link:
    return Span.Link(
        trace_id=row["trace_id"] or b"",
        span_id=row["span_id"] or b"",
        trace_state=row["trace_state"] or "",
        attributes=attributes,
        dropped_attributes_count=row["dropped_attributes_count"] or 0,
    )


def _whole_span(row: Row, rows: _Rows) -> Span:
    span = span_record(row, rows.attributes("span_attrs", row["id"]))
    events, links = (rows.children(table, row["id"]) for table in ("span_events", "span_links"))
    span.events.extend(span_event(one, rows.attributes("span_event_attrs", one["id"])) for one in events)
    span.links.extend(span_link(one, rows.attributes("span_link_attrs", one["id"])) for one in links)
    return span


def _metric(row: Row, rows: _Rows) -> m.Metric:
    metric = empty_metric(row)
    metric.metadata.extend(rows.attributes("metric_attrs", row["id"]))
    table = POINT_TABLES.get(row["metric_type"])
    if table is None:
        return metric
    kind = table.removesuffix("_data_points")
    for point in rows.children(table, row["id"]):
        made = add_point(metric, row["metric_type"], point, rows.attributes(attributes_of(table), point["id"]))
        if row["metric_type"] != SUMMARY:
            below = rows.children(f"{kind}_dp_exemplars", point["id"])
            made.exemplars.extend(exemplar(one, rows.attributes(f"{kind}_dp_exemplar_attrs", one["id"])) for one in below)
    return metric


def empty_metric(row: Row) -> m.Metric:
    """Without its points. The exporter does not keep whether a sum is monotonic, so it is not claimed."""
    metric = m.Metric(name=row["name"] or "", description=row["description"] or "", unit=row["unit"] or "")
    held = _FIELDS.get(row["metric_type"])
    if held is not None:
        field = getattr(metric, held)
        field.SetInParent()
        if row["metric_type"] in (SUM, HISTOGRAM, EXP_HISTOGRAM):
            field.aggregation_temporality = _enum(row["aggregation_temporality"])
    return metric


def add_point(metric: m.Metric, kind: int, row: Row, attributes: list[KeyValue]) -> Any:
    """A data point of a metric of that type."""
    point = _POINTS[kind](row)
    point.time_unix_nano = row["time_unix_nano"] or 0
    point.start_time_unix_nano = row["start_time_unix_nano"] or 0
    point.flags = row["flags"] or 0
    point.attributes.extend(attributes)
    points = getattr(metric, _FIELDS[kind]).data_points
    points.append(point)
    return points[-1]


def _number(row: Row) -> m.NumberDataPoint:
    return m.NumberDataPoint(as_int=row["int_value"]) if row["int_value"] is not None else m.NumberDataPoint(as_double=row["double_value"])


def _histogram(row: Row) -> m.HistogramDataPoint:
    bounds, counts = row["explicit_bounds"] or [], row["bucket_counts"] or []
    return m.HistogramDataPoint(
        count=row["count"] or 0, sum=row["sum"], bucket_counts=counts, explicit_bounds=bounds, min=row["min"], max=row["max"]
    )


def _exp_histogram(row: Row) -> m.ExponentialHistogramDataPoint:
    sides = {
        side: m.ExponentialHistogramDataPoint.Buckets(offset=row[side]["offset"] or 0, bucket_counts=row[side]["bucket_counts"] or [])
        for side in ("positive", "negative")
        if row[side] is not None
    }
    return m.ExponentialHistogramDataPoint(
        count=row["count"] or 0,
        sum=row["sum"],
        scale=row["scale"] or 0,
        zero_count=row["zero_count"] or 0,
        min=row["min"],
        max=row["max"],
        **sides,
    )


def _summary(row: Row) -> m.SummaryDataPoint:
    values = [m.SummaryDataPoint.ValueAtQuantile(quantile=one["quantile"], value=one["value"]) for one in row["quantile"] or []]
    return m.SummaryDataPoint(count=row["count"] or 0, sum=row["sum"] or 0.0, quantile_values=values)


_FIELDS = {GAUGE: "gauge", SUM: "sum", HISTOGRAM: "histogram", EXP_HISTOGRAM: "exponential_histogram", SUMMARY: "summary"}
_POINTS: dict[int, Callable[[Row], Any]] = {
    GAUGE: _number,
    SUM: _number,
    HISTOGRAM: _histogram,
    EXP_HISTOGRAM: _exp_histogram,
    SUMMARY: _summary,
}
POINT_TABLES = {
    GAUGE: "number_data_points",
    SUM: "number_data_points",
    HISTOGRAM: "histogram_data_points",
    EXP_HISTOGRAM: "exp_histogram_data_points",
    SUMMARY: "summary_data_points",
}


def exemplar(row: Row, attributes: list[KeyValue]) -> m.Exemplar:
    made = m.Exemplar(
        time_unix_nano=row["time_unix_nano"] or 0,
        span_id=row["span_id"] or b"",
        trace_id=row["trace_id"] or b"",
        filtered_attributes=attributes,
    )
    if row["int_value"] is not None and not row["double_value"]:
        made.as_int = row["int_value"]
    elif row["double_value"] is not None:
        made.as_double = row["double_value"]
    return made


def _enum(value: int | None) -> Any:
    return value or 0


def _with_hex_ids(value: Any) -> Any:
    match value:
        case dict():
            return {key: base64.b64decode(item).hex() if key in _IDS else _with_hex_ids(item) for key, item in value.items()}
        case list():
            return [_with_hex_ids(item) for item in value]
        case _:
            return value
