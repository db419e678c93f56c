"""ASOF JOIN: the words before it, and the condition that must follow."""

from __future__ import annotations

from collections.abc import Callable

from windrow.model.expr import Binary
from windrow.model.query import Join, JoinKind, NamedSource, Source
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.words import quote_name

# [LEFT [OUTER]] ASOF JOIN as the contract writes it, and ASOF LEFT JOIN as DuckDB does.
_KINDS: tuple[tuple[str, ...], ...] = (
    (),
    ("INNER",),
    *((kind, *outer) for kind in ("LEFT", "RIGHT", "FULL") for outer in ((), ("OUTER",))),
)
_SPELLINGS = tuple((before, words) for before in _KINDS for words in ((*before, "ASOF", "JOIN"), ("ASOF", *before, "JOIN")))


def starts_asof(cursor: Cursor) -> bool:
    return any(cursor.at(*words) for _, words in _SPELLINGS)


def read_asof_join(cursor: Cursor, read_source: Callable[[Cursor], Source]) -> Join:
    """``[LEFT] ASOF JOIN source ON condition``."""
    start = cursor.peek()
    before, words = next((before, words) for before, words in _SPELLINGS if cursor.at(*words))
    cursor.take(*words)
    if before[:1] in (("RIGHT",), ("FULL",)):
        hint = "write LEFT ASOF JOIN, with the stream whose rows are completed first"
        raise cursor.fault(codes.SYNTAX, f"there is no {before[0]} ASOF JOIN", cursor.since(start), hint)
    kind = JoinKind.LEFT if before[:1] == ("LEFT",) else JoinKind.INNER
    source = read_source(cursor)
    written = "LEFT ASOF JOIN" if kind is JoinKind.LEFT else "ASOF JOIN"
    times = cursor.in_parentheses(lambda inner: inner.expr()) if cursor.take("MATCH_CONDITION") else None
    if cursor.at("USING"):
        hint = f"write {written} {_named(source)} ON left.key = {_name(source)}.key AND left.ts >= {_name(source)}.ts"
        raise cursor.fault(codes.SYNTAX, "ASOF JOIN takes ON: USING does not say which column is the time", hint=hint)
    if cursor.at("WITHIN"):
        hint = f"leave out WITHIN, and compare the times of what comes out: WHERE left.ts <= {_name(source)}.ts + INTERVAL '1' HOUR"
        raise cursor.fault(codes.MISPLACED, "ASOF JOIN takes no WITHIN: the newest earlier row is found however old it is", hint=hint)
    if not cursor.take("ON"):
        raise cursor.expected("ON after ASOF JOIN", "ON")
    on = cursor.expr()
    if times is not None:
        # Snowflake's clause for the comparison of the times.
        on = Binary("AND", on, times, span=cursor.since(start))
    return Join(kind, source, on, is_asof=True, span=cursor.since(start))


def _name(source: Source) -> str:
    return quote_name(source.alias or source.name) if isinstance(source, NamedSource) else quote_name(source.alias or "u")


def _named(source: Source) -> str:
    if not isinstance(source, NamedSource):
        return f"(...) {_name(source)}"
    return quote_name(source.name) if source.alias is None else f"{quote_name(source.name)} {quote_name(source.alias)}"
