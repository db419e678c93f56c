"""Flink's ``WATERMARK FOR ts AS ts - INTERVAL '5' SECOND``: two options of the stream, in the list of its columns."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model.expr import Binary, Column, Expr, Interval
from windrow.model.options import Option, Options
from windrow.model.place import Span
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.durations import micros_of, show_duration
from windrow.sql.lengths import parse_length
from windrow.sql.words import quote_string

FIELD, DELAY = "event.time.field", "watermark.delay"


@dataclass(frozen=True)
class WatermarkFor:
    """The column of the event time, and how far rows may be out of order, in microseconds."""

    column: str
    delay: int
    span: Span


def read_watermark_for(cursor: Cursor, is_table: bool) -> WatermarkFor:
    """``WATERMARK FOR ts AS ts``, or with an interval that is taken off."""
    start = cursor.peek()
    cursor.expect("WATERMARK", "FOR")
    column = cursor.name("the name of a column")
    cursor.expect("AS")
    delay = _delay(cursor.expr(), column)
    span = cursor.since(start)
    if is_table:
        hint = f"write CREATE STREAM for rows with a watermark; a table with versions has WITH ('{FIELD}' = {quote_string(column)})"
        raise cursor.fault(codes.FOREIGN, "a table has no watermark", span, hint)
    if delay is None:
        message = "a watermark is its column less a length of time"
        raise cursor.fault(codes.FOREIGN, message, span, f"write WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND")
    return WatermarkFor(column, delay, span)


def _delay(expr: Expr, column: str) -> int | None:
    match expr:
        case Column(name=name, qualifier=None) if name.lower() == column.lower():
            return 0
        case Binary(op="-", left=Column(name=name, qualifier=None), right=Interval(micros=micros)) if name.lower() == column.lower():
            return micros if micros >= 0 else None
        case _:
            return None


def with_watermark(cursor: Cursor, options: Options, watermark: WatermarkFor) -> Options:
    """The options of a stream with what its WATERMARK FOR says; the same may be said twice, something else not."""
    wanted = {FIELD: watermark.column, DELAY: show_duration(watermark.delay)}
    entries = list(options)
    for key, value in wanted.items():
        given = options.find(key)
        if given is None:
            entries.append(Option(key, value, watermark.span, span=watermark.span))
        elif not _is_same(key, given.value, value):
            message = f"WATERMARK FOR says '{key}' = '{value}', and WITH says '{given.value}'"
            raise cursor.fault(codes.REPEATED, message, given.span, "keep one of them")
    return Options(tuple(entries), span=options.span or watermark.span)


def _is_same(key: str, one: str, other: str) -> bool:
    if key == FIELD:
        return one.lower() == other.lower()
    # A bare number is seconds.
    return (micros_of(one, "s") if one.isdecimal() else parse_length(one)) == parse_length(other)
