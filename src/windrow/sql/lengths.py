"""Lengths of time as they are written in SQL: ``5m``, ``INTERVAL '5' MINUTE``, ``5 MINUTES`` and a bare number of seconds."""

from __future__ import annotations

import re

from windrow.model.expr import Call, Interval, Literal
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token, printable
from windrow.sql.durations import LONGEST, MONTH_UNITS, UNITS, micros_of

HINT = "write it like 500ms, 30s, 5m, 1h, 2d or 1w"

_ONE_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_PLAIN = re.compile(r"\s*[+-]?\d+(?:\.\d+)?\s*")
_CLOCK = re.compile(r"\s*([+-])?(?:(\d+)\s+)?(\d+(?::\d+){0,2}(?:\.\d+)?)\s*")
_YEARS_AND_MONTHS = re.compile(r"\s*([+-])?(\d+)-(\d+)\s*")
_CLOCK_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def read_duration(cursor: Cursor, what: str = "a length of time") -> int:
    """A length of time in microseconds; it may be negative, which the caller judges."""
    start = cursor.peek()
    if starts_interval(cursor):
        found = read_interval(cursor)
        if isinstance(found, Interval):
            return found.micros
        raise cursor.fault(codes.BAD_DURATION, "months and years have no fixed length", cursor.since(start), HINT)
    sign = "-" if cursor.take("-") else ""
    token = cursor.peek()
    if token.kind is Kind.DURATION:
        return _micros(cursor, sign, *split_duration(cursor.advance()), start)
    if token.kind is Kind.STRING and not sign and (length := parse_length(token.text)) is not None:
        cursor.advance()
        return length
    if token.kind is not Kind.NUMBER:
        raise cursor.fault(codes.BAD_DURATION, f"expected {what}, found {token.shown}", hint=HINT)
    cursor.advance()
    if cursor.peek().text.lower() in MONTH_UNITS:
        cursor.advance()
        raise cursor.fault(codes.BAD_DURATION, "months and years have no fixed length", cursor.since(start), HINT)
    unit = cursor.advance().text if cursor.peek().text.lower() in UNITS and cursor.peek().kind is Kind.WORD else "s"
    return _micros(cursor, sign, token.text, unit, start)


def split_duration(token: Token) -> tuple[str, str]:
    """Number and unit of a token such as ``5m``."""
    number = token.text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return number, token.text[len(number) :]


def read_duration_literal(cursor: Cursor) -> Interval:
    """``5m`` inside an expression."""
    start = cursor.advance()
    return Interval(_micros(cursor, "", *split_duration(start), start), span=start.span)


def starts_interval(cursor: Cursor) -> bool:
    """Whether INTERVAL is next as a literal, and not as the name of a column."""
    if not cursor.at("INTERVAL"):
        return False
    if cursor.peek(1).kind in (Kind.STRING, Kind.NUMBER, Kind.DURATION):
        return True
    return cursor.peek(1).key in ("-", "+") and cursor.peek(2).kind is Kind.NUMBER and _is_unit(cursor.peek(3))


def read_interval(cursor: Cursor) -> Interval | Call:
    """INTERVAL with a string or with numbers and units; months and years become a call of ``make_ym_interval``."""
    start = cursor.advance()
    token = cursor.peek()
    if token.kind is Kind.DURATION:
        inner = read_duration_literal(cursor)
        return Interval(inner.micros, span=cursor.since(start))
    parts = _string_parts(cursor) if token.kind is Kind.STRING else _number_parts(cursor)
    if all(unit.lower() in MONTH_UNITS for _, unit in parts):
        if not all(number.lstrip("+-").isdigit() for number, _ in parts):
            raise cursor.fault(codes.BAD_DURATION, "months and years must be whole numbers", cursor.since(start), "use a smaller unit")
        months = sum(int(number) * MONTH_UNITS[unit.lower()] for number, unit in parts)
        years, rest = divmod(abs(months), 12)
        sign = -1 if months < 0 else 1
        span = cursor.since(start)
        args = (Literal(sign * years, span=span), Literal(sign * rest, span=span))
        return Call("make_ym_interval", args, span=span, name_span=start.span)
    if any(unit.lower() in MONTH_UNITS for _, unit in parts):
        raise cursor.fault(codes.BAD_DURATION, "months do not mix with shorter units", cursor.since(start), "add two intervals instead")
    total = sum(_micros(cursor, "", number, unit, start) for number, unit in parts)
    if abs(total) > LONGEST:
        raise cursor.fault(codes.BAD_DURATION, "this length of time is too long", cursor.since(start), HINT)
    return Interval(total, span=cursor.since(start))


def _string_parts(cursor: Cursor) -> list[tuple[str, str]]:
    """Numbers with their units from ``'5' MINUTE``, ``'5 minutes'``, ``'1 hour 30 minutes'`` or ``'1 02:03:04' DAY TO SECOND``."""
    token = cursor.advance()
    is_plain = _PLAIN.fullmatch(token.text) is not None
    if not is_plain and cursor.peek(1).key != "TO":
        return _worded_parts(cursor, token)
    first = _unit(cursor)
    if not cursor.take("TO"):
        return [(token.text.strip(), first)]
    last = cursor.peek()
    _unit(cursor)
    if (first.upper(), last.key) == ("YEAR", "MONTH") and (match := _YEARS_AND_MONTHS.fullmatch(token.text)):
        sign = match[1] or ""
        return [(sign + match[2], "YEAR"), (sign + match[3], "MONTH")]
    return _clock_parts(cursor, token, first.upper(), last.key)


def _worded_parts(cursor: Cursor, token: Token) -> list[tuple[str, str]]:
    parts = _split_worded(token.text)
    if parts is None:
        raise _bad(cursor, token)
    return parts


def _split_worded(text: str) -> list[tuple[str, str]] | None:
    parts: list[tuple[str, str]] = []
    done = 0
    while match := _ONE_PART.match(text, done):
        parts.append((match[1], match[2]))
        done = match.end()
    is_whole = done == len(text) and all(unit.lower() in {**UNITS, **MONTH_UNITS} for _, unit in parts)
    return parts if parts and is_whole else None


def parse_length(text: str) -> int | None:
    """The microseconds of a text such as ``1 hour 30 minutes``; None if it is no fixed length of time.

    >>> parse_length("5 minutes"), parse_length("1 month"), parse_length("soon")
    (300000000, None, None)
    """
    parts = _split_worded(text)
    if parts is None or any(unit.lower() in MONTH_UNITS for _, unit in parts):
        return None
    lengths = [micros_of(number, unit) for number, unit in parts]
    return None if None in lengths else sum(length for length in lengths if length is not None)


def _clock_parts(cursor: Cursor, token: Token, first: str, last: str) -> list[tuple[str, str]]:
    match = _CLOCK.fullmatch(token.text)
    if match is None or first not in _CLOCK_UNITS or last not in _CLOCK_UNITS:
        raise _bad(cursor, token)
    numbers = [*([match[2]] if match[2] else []), *match[3].split(":")]
    units = _CLOCK_UNITS[_CLOCK_UNITS.index(first) : _CLOCK_UNITS.index(last) + 1]
    if len(numbers) != len(units) or (match[2] is None) == (first == "DAY") or ("." in match[3] and last != "SECOND"):
        raise _bad(cursor, token)
    return [((match[1] or "") + number, unit) for number, unit in zip(numbers, units, strict=True)]


def _number_parts(cursor: Cursor) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    while not parts or (cursor.peek().kind is Kind.NUMBER and _is_unit(cursor.peek(1))):
        sign = cursor.advance().text if not parts and cursor.at_any(("-", "+")) else ""
        number = cursor.advance()
        parts.append((sign + number.text, _unit(cursor)))
    return parts


def _is_unit(token: Token) -> bool:
    return token.kind is Kind.WORD and (token.text.lower() in UNITS or token.text.lower() in MONTH_UNITS)


def _unit(cursor: Cursor) -> str:
    if not _is_unit(cursor.peek()):
        raise cursor.expected("a unit of time", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    return cursor.advance().text


def _bad(cursor: Cursor, token: Token) -> Exception:
    message = f'"{printable(token.text)}" is not a length of time'
    return cursor.fault(codes.BAD_DURATION, message, token.span, "write it like INTERVAL '5' MINUTE")


def _micros(cursor: Cursor, sign: str, number: str, unit: str, start: Token) -> int:
    micros = micros_of(number, unit)
    if micros is None:
        message = f'"{printable(number + unit)}" is not a whole number of microseconds within 64 bits'
        raise cursor.fault(codes.BAD_DURATION, message, cursor.since(start), HINT)
    return -micros if sign else micros
