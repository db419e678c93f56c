"""The clauses after FROM: each at most once, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.model.query import Emit, EmitChanges, EmitFinal, Select
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.groupings import read_keys
from windrow.sql.options import at_options, read_options
from windrow.sql.over import at_named_windows, skip_named_windows
from windrow.sql.windows import read_window
from windrow.sql.words import nearest

_MODES = ("FINAL", "CHANGES", "CHANGES PER BATCH")
# EMIT FINAL in the words of RisingWave, Timeplus and Beam.
_WHEN_CLOSED = (("ON", "WINDOW", "CLOSE"), ("AFTER", "WINDOW", "CLOSE"), ("AFTER", "WATERMARK"), ("STREAM", "AFTER", "WATERMARK"))


def _read_order(cursor: Cursor) -> object:
    return cursor.between_commas(Cursor.sort_key)


def _read_limit(cursor: Cursor) -> object:
    return cursor.count("the number of rows after LIMIT", least=0)


def _read_fetch(cursor: Cursor) -> object:
    """FETCH FIRST 5 ROWS ONLY: the standard's way to say LIMIT 5."""
    count = cursor.count("the number of rows after FETCH FIRST", least=0)
    if not (cursor.take("ROWS", "ONLY") or cursor.take("ROW", "ONLY")):
        raise cursor.expected("ROWS ONLY")
    return count


def _read_emit(cursor: Cursor) -> Emit:
    start = cursor.last()
    is_final = cursor.take("FINAL")
    if any(cursor.take(*words) for words in _WHEN_CLOSED) or is_final:
        return EmitFinal(span=cursor.since(start))
    if cursor.take("CHANGES"):
        is_per_batch = cursor.take("PER")
        if is_per_batch and not cursor.take("BATCH"):
            message = f"unknown EMIT mode: expected BATCH after PER, found {cursor.peek().shown}"
            raise cursor.fault(codes.BAD_EMIT, message, hint="write EMIT CHANGES PER BATCH")
        return EmitChanges(is_per_batch, span=cursor.since(start))
    token = cursor.peek()
    close = nearest(token.text, _MODES) if token.kind is Kind.WORD else None
    hint = f"did you mean EMIT {close}?" if close else "write EMIT FINAL, EMIT CHANGES or EMIT CHANGES PER BATCH"
    raise cursor.fault(codes.BAD_EMIT, f"unknown EMIT mode {token.shown}", hint=hint)


_CLAUSES: tuple[tuple[tuple[str, ...], str, Callable[[Cursor], object]], ...] = (
    (("WHERE",), "where", Cursor.expr),
    (("GROUP", "BY"), "group_by", read_keys),
    (("WINDOW",), "window", read_window),
    (("HAVING",), "having", Cursor.expr),
    (("QUALIFY",), "qualify", Cursor.expr),
    (("ORDER", "BY"), "order_by", _read_order),
    (("LIMIT",), "limit", _read_limit),
    (("FETCH", "FIRST"), "limit", _read_fetch),
    (("FETCH", "NEXT"), "limit", _read_fetch),
    (("EMIT",), "emit", _read_emit),
)


def read_clauses(cursor: Cursor, select: Select) -> Select:
    """A select with the clauses that follow its sources."""
    found: dict[str, Any] = {}
    while True:
        word = cursor.peek()
        if at_options(cursor):
            _once(cursor, "options" not in found, "WITH", word)
            found["options"] = read_options(cursor)
            continue
        if at_named_windows(cursor):
            skip_named_windows(cursor)
            continue
        clause = next((clause for clause in _CLAUSES if cursor.at(*clause[0])), None)
        if clause is None:
            return replace(select, **found)
        words, name, read = clause
        _once(cursor, name not in found, " ".join(words), word)
        cursor.take(*words)
        found[name] = read(cursor)


def _once(cursor: Cursor, is_first: bool, clause: str, word: Token) -> None:
    if not is_first:
        raise cursor.fault(codes.REPEATED, f"{clause} is given twice", word.span, f"keep one {clause}")
