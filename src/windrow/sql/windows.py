"""The WINDOW clause: a kind with its lengths, then its sub-clauses in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from windrow.model.expr import Column
from windrow.model.place import Span
from windrow.model.window import EventTime, ProcessingTime, TimeDomain, WindowClause
from windrow.model.window_kinds import KINDS, SPELLINGS, CountedKind, FixedKind, MovingKind, WindowKind
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.durations import show_duration
from windrow.sql.lengths import read_duration
from windrow.sql.triggers import read_late_strategy, read_triggers, read_watermark
from windrow.sql.words import nearest


@dataclass
class _Arguments:
    """What stood between the parentheses of a window kind, before it is known to fit."""

    lengths: list[tuple[int, Span]] = field(default_factory=list)
    time: EventTime | None = None
    max_length: int | None = None
    offset: int | None = None
    is_timeout: bool = False
    # ksqlDB's GRACE PERIOD.
    lateness: int | None = None


def read_window(cursor: Cursor) -> WindowClause:
    """What follows the word WINDOW."""
    start = cursor.last()
    word = cursor.peek()
    if word.key not in SPELLINGS:
        close = nearest(word.text, SPELLINGS)
        hint = f"did you mean {SPELLINGS[close].example}?" if close else f"write one of {', '.join(kind.example for kind in KINDS)}"
        raise cursor.fault(codes.BAD_WINDOW, f"expected a kind of window, found {word.shown}", hint=hint)
    cursor.advance()
    kind: WindowKind
    wanted: Any = SPELLINGS[word.key]
    if not cursor.at("("):
        hint = f"write {word.key}{wanted.example[len(wanted.word) :]}"
        raise cursor.fault(codes.SYNTAX, f'expected "(" after {word.key}, found {cursor.peek().shown}', hint=hint)
    if issubclass(wanted, CountedKind):
        kind = wanted(cursor.in_parentheses(lambda inner: inner.count("the number of rows")), span=cursor.since(word))
        arguments = _Arguments()
    else:
        arguments = cursor.in_parentheses(_read_arguments)
        if cursor.take("OFFSET"):
            _read_offset(cursor, arguments)
        kind = _build_kind(cursor, word, arguments)
    return _read_sub_clauses(cursor, kind, arguments, start)


def build_window(cursor: Cursor, word: Token, lengths: list[tuple[int, Span]], time: EventTime, offset: int | None) -> WindowClause:
    """The clause of a window that was written as a function: lengths in the order of the clause."""
    kind = _build_kind(cursor, word, _Arguments(lengths, offset=offset))
    return WindowClause(kind, time, span=cursor.since(word))


def _read_arguments(cursor: Cursor) -> _Arguments:
    arguments = _Arguments()
    _read_argument(cursor, arguments)
    while cursor.take(",") or cursor.at_any(("TIMEOUT", "OFFSET", "MAX")):
        if cursor.take("TIMEOUT"):
            if arguments.is_timeout or len(arguments.lengths) != 1:
                raise cursor.fault(codes.BAD_WINDOW, "TIMEOUT follows the gap of a session", cursor.last().span, "SESSION(30m TIMEOUT)")
            arguments.is_timeout = True
        else:
            _read_argument(cursor, arguments)
    return arguments


def _read_argument(cursor: Cursor, arguments: _Arguments) -> None:
    token = cursor.peek()
    if cursor.take("OFFSET"):
        _read_offset(cursor, arguments)
    elif token.key == "MAX" and cursor.peek(1).key != ".":
        cursor.advance()
        if arguments.max_length is not None:
            raise cursor.fault(codes.REPEATED, "MAX is given twice", token.span, "keep one of them")
        micros = read_duration(cursor)
        arguments.max_length = _positive(cursor, "MAX", micros, cursor.since(token))
    elif cursor.at("SIZE") and _is_length(cursor.peek(1)):
        cursor.advance()
        _read_length(cursor, arguments, 0)
    elif cursor.take("ADVANCE", "BY"):
        _read_length(cursor, arguments, 1)
    elif cursor.take("GRACE", "PERIOD"):
        if arguments.lateness is not None:
            raise cursor.fault(codes.REPEATED, "GRACE PERIOD is given twice", token.span, "keep one of them")
        arguments.lateness = _read_lateness(cursor)
    elif token.kind in (Kind.WORD, Kind.QUOTED) and not (token.key == "INTERVAL" and cursor.peek(1).kind is not Kind.SYMBOL):
        if arguments.time is not None:
            raise cursor.fault(codes.REPEATED, "the time column is given twice", token.span, "keep one of them")
        arguments.time = _event_time(cursor)
    else:
        _read_length(cursor, arguments, len(arguments.lengths))


def _read_length(cursor: Cursor, arguments: _Arguments, place: int) -> None:
    """A length that stands where SIZE (0) or ADVANCE BY (1) says."""
    start = cursor.peek()
    micros = read_duration(cursor)
    arguments.lengths.insert(place, (micros, cursor.since(start)))


def _is_length(token: Token) -> bool:
    return token.kind in (Kind.NUMBER, Kind.DURATION) or token.key == "INTERVAL"


def _read_offset(cursor: Cursor, arguments: _Arguments) -> None:
    if arguments.offset is not None:
        raise cursor.fault(codes.REPEATED, "OFFSET is given twice", cursor.last().span, "keep one of them")
    arguments.offset = read_duration(cursor)


def _event_time(cursor: Cursor) -> EventTime:
    start = cursor.peek()
    column = cursor.expr()
    if not isinstance(column, Column):
        hint = "compute it in a query that this one reads"
        raise cursor.fault(codes.BAD_WINDOW, "the time of a window is a column", cursor.since(start), hint)
    return event_time_of(column)


def event_time_of(column: Column) -> EventTime:
    """The stream's own event time needs no column: the model says so with None."""
    is_own = column.qualifier is None and column.name.lower() == "_event_time"
    return EventTime(None if is_own else column, span=column.span)


def _build_kind(cursor: Cursor, word: Token, arguments: _Arguments) -> WindowKind:
    wanted: Any = SPELLINGS[word.key]
    span = cursor.since(word)
    if len(arguments.lengths) != len(wanted.lengths):
        hint = _count_hint(word.key, wanted, [micros for micros, _ in arguments.lengths])
        raise cursor.fault(codes.BAD_WINDOW, f"{word.key} takes {wanted.takes}, found {len(arguments.lengths)}", span, hint)
    is_moving = issubclass(wanted, MovingKind)
    if not is_moving and (arguments.max_length is not None or arguments.is_timeout):
        raise cursor.fault(codes.BAD_WINDOW, f"MAX and TIMEOUT belong to SESSION, not to {word.key}", span, SPELLINGS["SESSION"].example)
    if is_moving and arguments.offset is not None:
        raise cursor.fault(codes.BAD_WINDOW, f"a {word.key} has no OFFSET: it starts with its first row", span, wanted.example)
    sizes = [_positive(cursor, "the length of a window", micros, at) for micros, at in arguments.lengths]
    rest = {"max_length": arguments.max_length} if is_moving else {"offset": arguments.offset or 0}
    kind: WindowKind = wanted(**dict(zip(wanted.lengths, sizes, strict=True)), **rest, span=span)
    for fault in kind.faults(show_duration):
        if fault.length is not None:
            hint = fault.hint.replace(wanted.word, word.key)
            raise cursor.fault(codes.WINDOW_SIZE, fault.message, arguments.lengths[fault.length][1], hint)
    return kind


def _count_hint(word: str, wanted: type[WindowKind], written: list[int]) -> str:
    """What to write where a kind has too few lengths or too many: those that are there."""
    shown = [show_duration(micros) for micros in written]
    if len(written) == 1 and issubclass(wanted, FixedKind):
        every = ", ".join(shown[0] if name == "size" else name for name in wanted.lengths)
        return f"write TUMBLING({shown[0]}), or both lengths: {word}({every})"
    if len(written) == 2 and issubclass(wanted, FixedKind):
        return f"write {word}({shown[0]}), or SLIDING({shown[0]}, {shown[1]})"
    if len(written) == 2 and issubclass(wanted, MovingKind):
        return f"write {word}({shown[0]}), or {word}({show_duration(min(written))}, MAX {show_duration(max(written))})"
    return f"write {word}{wanted.example[len(wanted.word) :]}"


def _positive(cursor: Cursor, what: str, micros: int, at: Span) -> int:
    if micros <= 0:
        raise cursor.fault(codes.WINDOW_SIZE, f"{what} must be longer than zero", at, "write it like 30s, 5m or 1h")
    return micros


def _read_sub_clauses(cursor: Cursor, kind: WindowKind, arguments: _Arguments, start: Token) -> WindowClause:
    found: dict[str, Any] = {} if arguments.time is None else {"time": arguments.time}
    if arguments.lateness is not None:
        found["allowed_lateness"] = arguments.lateness
    while True:
        word = cursor.peek()
        match = _match_sub_clause(cursor)
        if match is None:
            return WindowClause(kind, span=cursor.since(start), **found)
        name, read = match
        if name in found:
            raise cursor.fault(codes.REPEATED, f"{word.key} is given twice for one WINDOW", word.span, "keep one of them")
        found[name] = read(cursor)


def _match_sub_clause(cursor: Cursor) -> tuple[str, Callable[[Cursor], object]] | None:
    if cursor.take("ON"):
        return "time", _read_time
    if cursor.take("WITH", "WATERMARK"):
        return "watermark", read_watermark
    if cursor.take("TRIGGER"):
        return "triggers", read_triggers
    if cursor.take("ALLOWED_LATENESS") or cursor.take("ALLOWED", "LATENESS"):
        return "allowed_lateness", _read_lateness
    if cursor.take("LATE_DATA_STRATEGY"):
        return "late", read_late_strategy
    return None


def _read_time(cursor: Cursor) -> TimeDomain:
    start = cursor.peek()
    if cursor.take("PROCESSING_TIME"):
        cursor.expect("(", ")")
        return ProcessingTime(span=cursor.since(start))
    if cursor.take("EVENT_TIME"):
        cursor.expect("(")
        found = EventTime() if cursor.at(")") else _event_time(cursor)
        cursor.expect(")")
        return EventTime(found.column, span=cursor.since(start))
    what, words = "EVENT_TIME(column) or PROCESSING_TIME()", ("EVENT_TIME", "PROCESSING_TIME")
    if start.kind is Kind.WORD and not cursor.is_reserved() and nearest(start.text, words) is None:
        raise cursor.fault(codes.SYNTAX, f"expected {what}, found {start.shown}", hint=f"write ON EVENT_TIME({start.text})")
    raise cursor.expected(what, *words)


def _read_lateness(cursor: Cursor) -> int:
    start = cursor.peek()
    micros = read_duration(cursor)
    if micros < 0:
        raise cursor.fault(codes.BAD_DURATION, "ALLOWED_LATENESS must not be negative", cursor.since(start), "ALLOWED_LATENESS 10s")
    return micros
