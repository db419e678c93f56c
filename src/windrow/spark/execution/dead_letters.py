"""Rows that were set aside, as one table with one shape for every job."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from windrow.connectors.runtime import PROVENANCE
from windrow.model.fate import Fate
from windrow.spark.row_columns import RAW_TEXT
from windrow.spark.scan.diverted_rows import JUDGED_TIME, JUDGED_WATERMARK

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("batch_id", pa.int64()),
        ("attempt", pa.int32()),
        ("code", pa.string()),
        ("reason", pa.string()),
        ("message", pa.string()),
        ("source", pa.string()),
        ("statement", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("topic", pa.string()),
        ("key", pa.string()),
        ("headers", pa.map_(pa.string(), pa.string())),
        ("arrived_at", pa.timestamp("us", tz="UTC")),
        ("event_time", pa.timestamp("us", tz="UTC")),
        # Of rows that were late: the watermark they were judged by, by how many microseconds, and the end of the last window they were for.
        ("watermark", pa.timestamp("us", tz="UTC")),
        ("late_by", pa.int64()),
        ("window_end", pa.timestamp("us", tz="UTC")),
        ("raw", pa.binary()),
        ("row", pa.string()),
        # The name of the constraint that a row violates.
        ("constraint", pa.string()),
        # The rule over dead letters that admitted it, what that rule calls it, and whether it holds it for review.
        ("rule", pa.string()),
        ("label", pa.string()),
        ("held", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Lateness:
    """Why a row was late, in microseconds.

    ``late_by`` is how far the watermark was beyond the moment up to which the row would have been taken: had the watermark's delay or the
    ALLOWED_LATENESS been longer by more than this, it would have been. ``window_end`` is of the last window that could have taken it;
    None where there are no windows.
    """

    watermark: int
    late_by: int
    window_end: int | None = None


@dataclass(frozen=True)
class DeadLetter:
    """One row that no window or statement took, with all that is known of it."""

    fate: Fate
    source: str
    statement: str | None
    row: Mapping[str, Any]
    batch_id: int
    # Said instead of what the fate means: by the system outside, of a row that it refused, or by a join without windows.
    why: str | None = None
    late: Lateness | None = None
    constraint: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The user's own columns."""
        hidden = {*PROVENANCE, "_event_time", RAW_TEXT, JUDGED_TIME, JUDGED_WATERMARK}
        return {name: value for name, value in self.row.items() if name not in hidden}

    def to_record(self) -> dict[str, Any]:
        raw = self.row.get(RAW_TEXT)
        place = f"statement {self.statement}" if self.statement else f"source {self.source}"
        return {
            "batch_id": self.batch_id,
            "attempt": 1,
            "code": self.fate.code,
            "reason": self.fate.name.lower(),
            "message": f"{place}: {self.why or self.fate.meaning}",
            "source": self.source,
            "statement": self.statement,
            "partition": self.row.get("_partition"),
            "offset": self.row.get("_offset"),
            "topic": self.row.get("_topic"),
            "key": _text(self.row.get("_key")),
            "headers": _pairs(self.row.get("_headers")),
            "arrived_at": self.row.get("_timestamp"),
            "event_time": self.row.get("_event_time"),
            "watermark": None if self.late is None else instant(self.late.watermark),
            "late_by": None if self.late is None else self.late.late_by,
            "window_end": None if self.late is None else instant(self.late.window_end),
            "raw": raw.encode() if isinstance(raw, str) else raw,
            "row": json.dumps(self.values, default=json_value, ensure_ascii=False),
            "constraint": self.constraint,
        }


def instant(micros: int | None) -> datetime | None:
    """A time that a calendar knows; None for one beyond, such as the watermark of an input that is over.

    >>> instant(1_700_000_000_000_000).isoformat(), instant(1 << 61)
    ('2023-11-14T22:13:20+00:00', None)
    """
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def json_value(value: Any) -> Any:
    """How values that JSON does not know are written: times as ISO 8601, decimals as text, bytes as base64."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


Place = tuple[str, str | None, int | None, int | None, str | None]


def place_of(record: Mapping[str, Any]) -> Place:
    """Where the row of a letter stood: by this it is known again when it comes a second time. What a statement gave stood nowhere."""
    own = record["row"] if record["offset"] is None else None
    return record["source"], record["topic"], record["partition"], record["offset"], own


def to_table(letters: list[DeadLetter], attempts: Mapping[Place, int] | None = None) -> pa.Table:
    """The letters of a batch in an order of their own, so that each has the same id whenever the batch runs again.

    ``attempts`` says how often a row had been set aside before, for rows that were replayed.
    """
    records = sorted((letter.to_record() for letter in letters), key=_order)
    for number, record in enumerate(records):
        record["id"] = f"{record['batch_id']}-{number}"
        record["attempt"] = (attempts or {}).get(place_of(record), 0) + 1
    return pa.Table.from_pylist(records, schema=SCHEMA)


def _order(record: Mapping[str, Any]) -> tuple[Any, ...]:
    place = (record["topic"] or "", record["partition"] or 0, record["offset"] or 0)
    return (record["source"], record["statement"] or "", *place, record["code"], record["raw"] or b"", record["row"])


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _pairs(headers: Any) -> list[tuple[str, str | None]] | None:
    if headers is None:
        return None
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(name, _text(value)) for name, value in pairs]
