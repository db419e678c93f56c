"""OTLP requests from rows as SQL gives them: attributes in maps of texts, ids in hexadecimal, columns that may be missing."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from windrow.otap.rebuild.otlp import (
    GAUGE,
    POINT_TABLES,
    REQUESTS,
    SUMMARY,
    Row,
    add_point,
    any_value,
    empty_metric,
    exemplar,
    log_record,
    span_event,
    span_link,
    span_record,
)
from windrow.otap.tables import STR

_HEX = ("trace_id", "span_id", "parent_span_id")
_OUTER = {"logs": "resource_logs", "traces": "resource_spans", "metrics": "resource_metrics"}
_INNER = {"logs": "scope_logs", "traces": "scope_spans", "metrics": "scope_metrics"}
_METRIC = ("metric_name", "metric_type", "metric_unit", "metric_description", "aggregation_temporality")


class Marks:
    """A text for each record by which a receiver can tell one that was sent twice: the same whenever its batch is sent again.

    It is made from what the record says, not from its place, because rows may come in another order the second time. Records that
    are equal in all are told apart by a number.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._seen: Counter[bytes] = Counter()
        self._fresh: list[bytes] = []

    def keep(self) -> None:
        """What was marked is on its way."""
        self._fresh.clear()

    def take_back(self) -> None:
        """What was marked since the last ``keep`` never went anywhere: it is marked alike the next time."""
        self._seen.subtract(self._fresh)
        self._fresh.clear()

    def of(self, *content: Message) -> str:
        """
        >>> marks = Marks("job/out/7/")
        >>> one, again = (marks.of(AnyValue(int_value=1)) for _ in range(2))
        >>> again == one + "-1"
        True
        """
        digest = hashlib.blake2b(b"\0".join(part.SerializeToString(deterministic=True) for part in content), digest_size=12)
        before = self._seen[digest.digest()]
        self._seen[digest.digest()] += 1
        self._fresh.append(digest.digest())
        return f"{self._prefix}{digest.hexdigest()}" + (f"-{before}" if before else "")


def request_of(signal: str, rows: Iterable[Row], marks: Marks | None = None, mark_key: str = "") -> Any:
    """The rows by resource and scope. With ``marks``, each record has its mark as the attribute ``mark_key``."""
    request = REQUESTS[signal]()
    outers: dict[Any, Any] = {}
    inners: dict[Any, Any] = {}
    metrics: dict[Any, Any] = {}
    for given in rows:
        row = _complete(given)
        origin = _key(row, "resource", "resource_attributes")
        if origin not in outers:
            outers[origin] = _add_resource(request, signal, row)
        place = (origin, _key(row, "scope", "scope_attributes"), row["schema_url"])
        if place not in inners:
            inners[place] = _add_scope(outers[origin], signal, row)
        held = inners[place]
        attributes = _attributes(row["attributes"])
        match signal:
            case "logs":
                held.log_records.append(log_record(row, attributes))
                record = held.log_records[-1]
            case "traces":
                held.spans.append(_span(row, attributes))
                record = held.spans[-1]
            case _:
                kind = row["metric_type"] or GAUGE
                metric = (place, *(row[name] for name in _METRIC))
                if metric not in metrics:
                    held.metrics.append(empty_metric(_metric_row(row, kind)))
                    metrics[metric] = held.metrics[-1]
                record = add_point(metrics[metric], kind, row, attributes)
                if kind != SUMMARY:
                    record.exemplars.extend(exemplar(_item(one), _attributes(one.get("attributes"))) for one in row["exemplars"] or ())
        if marks is not None:
            text = marks.of(outers[origin].resource, held.scope, *_named(signal, row), record)
            record.attributes.append(KeyValue(key=mark_key, value=AnyValue(string_value=text)))
    return request


def _span(row: Row, attributes: list[KeyValue]) -> Message:
    span = span_record(row, attributes)
    span.events.extend(span_event(_item(one), _attributes(one.get("attributes"))) for one in row["events"] or ())
    span.links.extend(span_link(_item(one), _attributes(one.get("attributes"))) for one in row["links"] or ())
    return span


def _item(given: Row) -> Row:
    """An item of a list with every field there may be, ids as bytes."""
    values = {name: bytes.fromhex(value) if name in _HEX and value is not None else value for name, value in given.items()}
    return defaultdict(lambda: None, values)


def _complete(given: Row) -> Row:
    """With every column there may be; ids as bytes, a body that is a text as a body, the event time where there is no other."""
    row: Row = defaultdict(lambda: None, given)
    for name in _HEX:
        if row[name] is not None:
            row[name] = bytes.fromhex(row[name])
    if isinstance(row["body"], str):
        row["body"] = {"type": STR, "str": row["body"]}
    if row["time_unix_nano"] is None and isinstance(row["time"], datetime):
        row["time_unix_nano"] = _nanos(row["time"])
    if row["metric_type"] is not None and row["metric_type"] not in POINT_TABLES:
        raise ValueError(
            f"metric_type {row['metric_type']} is none: 1 is a gauge, 2 a sum, 3 a histogram, 4 an exponential one, 5 a summary"
        )
    return row


def _nanos(time: datetime) -> int:
    whole = int(time.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + time.microsecond * 1000


def _metric_row(row: Row, kind: int) -> Row:
    return {
        "name": row["metric_name"],
        "description": row["metric_description"],
        "unit": row["metric_unit"],
        "metric_type": kind,
        "aggregation_temporality": row["aggregation_temporality"],
    }


def _named(signal: str, row: Row) -> tuple[Message, ...]:
    """What a data point does not say itself: of which metric it is."""
    return (AnyValue(string_value=row["metric_name"] or ""),) if signal == "metrics" else ()


def _key(row: Row, struct: str, attributes: str) -> Any:
    own = {name: value for name, value in (row[struct] or {}).items() if name != "id"}
    return (tuple(sorted(own.items())), tuple(sorted(_pairs(row[attributes]), key=lambda pair: pair[0])))


def _pairs(texts: Any) -> list[tuple[str, Any]]:
    """Arrow gives a map as pairs."""
    return list(texts.items()) if isinstance(texts, dict) else [tuple(pair) for pair in texts or ()]


def _attributes(texts: Any) -> list[KeyValue]:
    return [KeyValue(key=key, value=any_value(None if value is None else {"type": STR, "str": str(value)})) for key, value in _pairs(texts)]


def _add_resource(request: Any, signal: str, row: Row) -> Any:
    own = row["resource"] or {}
    outer = getattr(request, _OUTER[signal]).add()
    dropped = own.get("dropped_attributes_count") or 0
    outer.resource.CopyFrom(Resource(attributes=_attributes(row["resource_attributes"]), dropped_attributes_count=dropped))
    outer.schema_url = own.get("schema_url") or ""
    return outer


def _add_scope(outer: Any, signal: str, row: Row) -> Any:
    own = row["scope"] or {}
    inner = getattr(outer, _INNER[signal]).add()
    scope = InstrumentationScope(
        name=own.get("name") or "",
        version=own.get("version") or "",
        attributes=_attributes(row["scope_attributes"]),
        dropped_attributes_count=own.get("dropped_attributes_count") or 0,
    )
    inner.scope.CopyFrom(scope)
    inner.schema_url = row["schema_url"] or ""
    return inner
