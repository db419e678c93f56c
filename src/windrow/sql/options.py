"""The WITH ( 'key' = 'value', ... ) list."""

from __future__ import annotations

from windrow.model.options import Option, Options
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind


def at_options(cursor: Cursor) -> bool:
    return cursor.at("WITH", "(")


def read_options(cursor: Cursor) -> Options:
    """WITH and its list; a key may stand only once."""
    start = cursor.expect("WITH")
    cursor.expect("(")
    entries: list[Option] = []
    while not entries or cursor.take(","):
        entry = _read_option(cursor)
        if any(entry.key.lower() == other.key.lower() for other in entries):
            raise cursor.fault(codes.REPEATED, f'option "{entry.key}" is given twice', entry.span, "keep one of them")
        entries.append(entry)
    cursor.expect(")")
    return Options(tuple(entries), span=cursor.since(start))


def _read_option(cursor: Cursor) -> Option:
    start = cursor.peek()
    key = _read_key(cursor)
    span = cursor.since(start)
    cursor.expect("=")
    first = cursor.peek()
    sign = "-" if cursor.take("-") else ""
    token = cursor.peek()
    is_number = token.kind in (Kind.NUMBER, Kind.DURATION)
    if not is_number and (sign or not (token.kind is Kind.STRING or token.key in ("TRUE", "FALSE"))):
        raise cursor.expected("a value in quotes", "TRUE", "FALSE")
    cursor.advance()
    value = token.text.lower() if token.key else sign + token.text
    return Option(key, value, cursor.since(first), span=span)


def _read_key(cursor: Cursor) -> str:
    """A key in quotes, or bare words with dots between."""
    if cursor.peek().kind is Kind.STRING:
        return cursor.advance().text
    if cursor.peek().kind not in (Kind.WORD, Kind.QUOTED):
        raise cursor.expected("an option such as 'connector' = 'kafka'")
    parts = [cursor.advance().text]
    while cursor.take("."):
        if cursor.peek().kind is not Kind.WORD:
            raise cursor.expected('a word after "."')
        parts.append(cursor.advance().text)
    return ".".join(parts)
