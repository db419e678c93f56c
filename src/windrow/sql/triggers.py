"""When a window emits, what moves its watermark, and what becomes of late rows."""

from __future__ import annotations

from windrow.model.expr import Binary, Expr
from windrow.model.window import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    DeadLetterLate,
    DropLate,
    EveryInterval,
    EveryRecords,
    IncludeInNext,
    LateStrategy,
    OnSessionEnd,
    OnWatermark,
    Punctuated,
    Trigger,
    UpdatePrevious,
    WatermarkKind,
    WhenRow,
)
from windrow.sql import codes
from windrow.sql.cursor import Cursor, SyntaxFaultError
from windrow.sql.dialect import Kind
from windrow.sql.lengths import read_duration
from windrow.sql.precedence import AND
from windrow.sql.words import nearest

_WATERMARKS = ("BOUNDED_OUT_OF_ORDERNESS", "ASCENDING_TIMESTAMPS", "PUNCTUATED")
_TRIGGERS = ("ON WATERMARK", "EVERY 30s", "EVERY 1000 RECORDS", "ON SESSION_END", "WHEN predicate")
_STRATEGIES = ("DEAD_LETTER", "DROP", "INCLUDE_IN_NEXT", "UPDATE_PREVIOUS")


def read_watermark(cursor: Cursor) -> WatermarkKind:
    """What follows WITH WATERMARK."""
    start = cursor.peek()
    if cursor.take("BOUNDED_OUT_OF_ORDERNESS"):
        delay = cursor.in_parentheses(read_duration)
        if delay < 0:
            message = "the delay of a watermark must not be negative"
            raise cursor.fault(codes.BAD_DURATION, message, cursor.since(start), "write BOUNDED_OUT_OF_ORDERNESS(5s)")
        return BoundedOutOfOrderness(delay, span=cursor.since(start))
    if cursor.take("ASCENDING_TIMESTAMPS"):
        if cursor.take("("):
            cursor.expect(")")
        return AscendingTimestamps(span=cursor.since(start))
    if cursor.take("PUNCTUATED"):
        predicate = cursor.in_parentheses(Cursor.expr)
        return Punctuated(predicate, span=cursor.since(start))
    raise _unknown(cursor, "a kind of watermark", _WATERMARKS)


def read_triggers(cursor: Cursor) -> tuple[Trigger, ...]:
    """What follows TRIGGER: one or more, with OR between."""
    found = [_read_trigger(cursor)]
    while cursor.take("OR"):
        start = cursor.peek()
        found.append(_read_trigger(cursor))
        # Several conditions may stand beside each other; of two lengths or two numbers, one would be lost.
        if isinstance(found[-1], EveryInterval | EveryRecords) and any(type(one) is type(found[-1]) for one in found[:-1]):
            raise cursor.fault(codes.REPEATED, "EVERY is given twice", cursor.since(start), "keep one of them")
    return tuple(found)


def _read_trigger(cursor: Cursor) -> Trigger:
    start = cursor.peek()
    if cursor.take("ON", "WATERMARK"):
        return OnWatermark(span=cursor.since(start))
    if cursor.take("ON", "SESSION_END"):
        return OnSessionEnd(span=cursor.since(start))
    if cursor.take("WHEN"):
        return WhenRow(_read_predicate(cursor), span=cursor.since(start))
    if not cursor.take("EVERY"):
        raise _unknown(cursor, "a trigger", _TRIGGERS)
    if cursor.peek(1).key in ("RECORDS", "RECORD"):
        count = cursor.count("the number of records")
        cursor.advance()
        return EveryRecords(count, span=cursor.since(start))
    interval = read_duration(cursor)
    if interval <= 0:
        raise cursor.fault(codes.BAD_DURATION, "EVERY needs a length of time above zero", cursor.since(start), "EVERY 30s")
    return EveryInterval(interval, span=cursor.since(start))


def _read_predicate(cursor: Cursor) -> Expr:
    """A condition that ends before the OR of the next trigger."""
    start = cursor.peek()
    left = cursor.expr(AND)
    while cursor.at("OR") and not _at_trigger(cursor, 1):
        cursor.advance()
        left = Binary("OR", left, cursor.expr(AND), span=cursor.since(start))
    return left


def _at_trigger(cursor: Cursor, ahead: int) -> bool:
    word, after = cursor.peek(ahead), cursor.peek(ahead + 1)
    # "every" may also be a column or a function of the predicate.
    is_every = word.key == "EVERY" and (after.kind in (Kind.NUMBER, Kind.DURATION) or after.key == "INTERVAL")
    return word.key in ("ON", "WHEN") or is_every


def read_late_strategy(cursor: Cursor) -> LateStrategy:
    """What follows LATE_DATA_STRATEGY."""
    start = cursor.peek()
    if cursor.take("DEAD_LETTER"):
        into = cursor.name("the name of a stream") if cursor.take("INTO") else None
        return DeadLetterLate(into, span=cursor.since(start))
    if cursor.take("DROP"):
        return DropLate(span=start.span)
    if cursor.take("INCLUDE_IN_NEXT"):
        return IncludeInNext(span=start.span)
    if cursor.take("UPDATE_PREVIOUS"):
        return UpdatePrevious(span=start.span)
    raise _unknown(cursor, "a strategy for late rows", _STRATEGIES)


def _unknown(cursor: Cursor, what: str, choices: tuple[str, ...]) -> SyntaxFaultError:
    token = cursor.peek()
    close = nearest(token.text, choices) if token.kind is Kind.WORD else None
    hint = f"did you mean {close}?" if close else f"one of {', '.join(choices)}"
    return cursor.fault(codes.UNKNOWN_CHOICE, f"expected {what}, found {token.shown}", hint=hint)
