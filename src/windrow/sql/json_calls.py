"""Functions of the SQL standard that make or read JSON, with the words that stand between their arguments."""

from __future__ import annotations

from windrow.model.expr import Call, Cast, Expr, Literal
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token

JSON_CALLS = frozenset({"JSON_VALUE", "JSON_QUERY", "JSON_OBJECT"})
_KEEP_NULLS = Call("map", (Literal("ignoreNullFields"), Literal("false")))


def read_json_call(cursor: Cursor, start: Token) -> Expr:
    """What stands between the parentheses, without the closing one."""
    return _read_object(cursor) if start.key == "JSON_OBJECT" else _read_path_call(cursor, start)


def _read_path_call(cursor: Cursor, start: Token) -> Expr:
    """JSON_VALUE(text, path [RETURNING type] [NULL ON EMPTY] [NULL ON ERROR])."""
    call: Expr = Call(start.text, () if cursor.at(")") else cursor.between_commas(Cursor.expr))
    if start.key == "JSON_VALUE" and cursor.take("RETURNING"):
        call = Cast(call, read_type(cursor), is_try=True)
    while cursor.take("NULL", "ON", "EMPTY") or cursor.take("NULL", "ON", "ERROR"):
        # That is what it does.
        continue
    return call


def _read_object(cursor: Cursor) -> Expr:
    """JSON_OBJECT([KEY] 'a' VALUE x, ...) or JSON_OBJECT('a': x) [NULL | ABSENT ON NULL]."""
    parts: list[Expr] = []
    while not cursor.at(")") and (not parts or cursor.take(",")):
        cursor.take("KEY")
        key = cursor.peek()
        parts.append(Literal(cursor.advance().text, span=key.span) if _is_text(key) else _no_name(cursor, key))
        if not (cursor.take("VALUE") or cursor.take(":") or cursor.take(",")):
            raise cursor.expected("VALUE")
        parts.append(cursor.expr())
    leaves_out = cursor.take("ABSENT", "ON", "NULL")
    if not leaves_out:
        cursor.take("NULL", "ON", "NULL")
    made = Call("named_struct", tuple(parts)) if parts else Call("map")
    return Call("to_json", (made,) if leaves_out else (made, _KEEP_NULLS))


def _is_text(token: Token) -> bool:
    return token.kind is Kind.STRING


def _no_name(cursor: Cursor, token: Token) -> Expr:
    raise cursor.fault(codes.SYNTAX, f"a name in JSON_OBJECT is a text in quotes, not {token.shown}", token.span, "write 'name' VALUE x")
