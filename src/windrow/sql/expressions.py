"""Operators: from tokens to an expression tree, by binding power."""

from __future__ import annotations

from windrow.model.expr import Binary, Call, Cast, Expr, Field, Index, Literal, Path, SortKey, Star, Unary
from windrow.sql import codes, precedence
from windrow.sql.cursor import Cursor
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token
from windrow.sql.precedence import BINARY, SPELLINGS
from windrow.sql.predicates import at_predicate, read_comparison, read_predicate
from windrow.sql.primaries import at_exists, read_primary


def read_expr(cursor: Cursor, power: int = 0) -> Expr:
    """An expression made of operators that bind at least as strongly as ``power``."""
    start = cursor.peek()
    with cursor.nested():
        left = _read_prefix(cursor)
        while True:
            symbol = cursor.peek().key
            operator = SPELLINGS.get(symbol, symbol)
            binds = BINARY.get(operator)
            shift = _shift_at(cursor) if power <= precedence.SHIFT else None
            if shift is not None:
                cursor.take(symbol, symbol)
                left = Call(shift, (left, read_expr(cursor, precedence.SHIFT + 1)), span=cursor.since(start), name_span=start.span)
            elif binds == precedence.COMPARISON and binds >= power:
                cursor.advance()
                left = read_comparison(cursor, operator, left, start)
            elif binds is not None and binds >= power:
                cursor.advance()
                left = Binary(operator, left, read_expr(cursor, binds + 1), span=cursor.since(start))
            elif power <= precedence.PREDICATE and at_predicate(cursor):
                left = read_predicate(cursor, left, start)
            else:
                return left


def _shift_at(cursor: Cursor) -> str | None:
    """The function that ``<<`` or ``>>`` is; two signs with a space between are none."""
    one, other = cursor.peek(), cursor.peek(1)
    return _SHIFTS.get(one.key) if one.key == other.key and one.end == other.start else None


_SHIFTS = {"<": "shiftleft", ">": "shiftright"}


def read_sort_key(cursor: Cursor) -> SortKey:
    """One key of ORDER BY."""
    start = cursor.peek()
    expr = read_expr(cursor)
    descending = cursor.take("DESC")
    if not descending:
        cursor.take("ASC")
    nulls_first = None
    if cursor.take("NULLS"):
        nulls_first = cursor.take("FIRST")
        if not nulls_first:
            cursor.expect("LAST")
    return SortKey(expr, descending, nulls_first, span=cursor.since(start))


def _read_prefix(cursor: Cursor) -> Expr:
    start = cursor.peek()
    if start.key == "NOT" and not at_exists(cursor):
        cursor.advance()
        return Unary("NOT", read_expr(cursor, precedence.NOT), span=cursor.since(start))
    if start.key in ("-", "+", "~"):
        cursor.advance()
        return Unary(start.key, read_expr(cursor, precedence.UNARY), span=cursor.since(start))
    return _read_postfix(cursor, read_primary(cursor), start)


def _read_postfix(cursor: Cursor, base: Expr, start: Token) -> Expr:
    while not isinstance(base, Star):
        if cursor.take("::"):
            base = Cast(base, read_type(cursor), span=cursor.since(start))
        elif cursor.take("["):
            key = read_expr(cursor)
            cursor.expect("]")
            base = Index(base, key, span=cursor.since(start))
        elif cursor.take("."):
            base = Field(base, _read_member(cursor), span=cursor.since(start))
        elif cursor.take(":"):
            base = Path(base, _read_path(cursor), span=cursor.since(start))
        elif _at_arrow(cursor):
            base = _read_arrows(cursor, base, start)
        else:
            break
    return base


def _at_arrow(cursor: Cursor) -> bool:
    """Whether ``-> 'key'`` or ``->> 'key'`` is next, and no lambda: its body is no text and no number."""
    ahead = 2 if cursor.at("->", ">") else 1
    return cursor.at("->") and cursor.peek(ahead).kind in (Kind.STRING, Kind.NUMBER)


def _read_arrows(cursor: Cursor, base: Expr, start: Token) -> Expr:
    """PostgreSQL's ``js -> 'a' -> 0 ->> 'b'``: the last arrow says whether the value comes as JSON or as text."""
    path, is_text = "$", False
    while _at_arrow(cursor) and not is_text:
        cursor.expect("->")
        is_text = cursor.take(">")
        key = cursor.advance()
        path += f"[{key.text}]" if key.kind is Kind.NUMBER else _path_step(key.text)
    span = cursor.since(start)
    if is_text:
        return Path(base, path, span=span)
    parsed = Call("try_parse_json", (base,), span=span)
    return Call("to_json", (Call("try_variant_get", (parsed, Literal(path), Literal("variant")), span=span),), span=span)


def _read_member(cursor: Cursor) -> str:
    """A name after a dot, where even a reserved word can only be a name."""
    if cursor.peek().kind not in (Kind.WORD, Kind.QUOTED):
        raise cursor.expected('the name of a field after "."')
    return cursor.advance().text


def _read_path(cursor: Cursor) -> str:
    """What follows the colon of ``payload:a.b[0]``, as JSONPath."""
    path = "$"
    if not cursor.at("["):
        path += _path_step(_read_member(cursor))
    while True:
        if cursor.take("."):
            path += _path_step(_read_member(cursor))
        elif cursor.take("["):
            token = cursor.advance()
            if token.kind is Kind.STRING:
                path += f"['{token.text}']"
            elif token.key == "*" or token.text.isdecimal():
                path += f"[{token.text}]"
            else:
                raise cursor.fault(
                    codes.SYNTAX, f"expected an index or a key in quotes, found {token.shown}", token.span, "write [0] or ['key']"
                )
            cursor.expect("]")
        else:
            return path


def _path_step(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"['{name}']"
