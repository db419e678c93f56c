"""Operators: from tokens to an expression tree, by binding power."""

from __future__ import annotations

from windrow.model.expr import (
    Between,
    Binary,
    Cast,
    Expr,
    Field,
    Index,
    InList,
    InQuery,
    IsDistinct,
    IsNull,
    Like,
    Literal,
    Path,
    SortKey,
    Star,
    Unary,
)
from windrow.sql import codes, precedence
from windrow.sql.cursor import Cursor
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token
from windrow.sql.precedence import BINARY, SPELLINGS
from windrow.sql.primaries import at_exists, read_primary

_LIKES = {"LIKE": "LIKE", "ILIKE": "ILIKE", "RLIKE": "RLIKE", "REGEXP": "RLIKE"}
_PREDICATES = frozenset({"IS", "IN", "BETWEEN", *_LIKES})
# PostgreSQL's words for IS NULL and IS NOT NULL.
_NULL_TESTS = {"ISNULL": False, "NOTNULL": True}


def read_expr(cursor: Cursor, power: int = 0) -> Expr:
    """An expression made of operators that bind at least as strongly as ``power``."""
    start = cursor.peek()
    with cursor.nested():
        left = _read_prefix(cursor)
        while True:
            symbol = cursor.peek().key
            operator = SPELLINGS.get(symbol, symbol)
            binds = BINARY.get(operator)
            if binds is not None and binds >= power:
                cursor.advance()
                left = Binary(operator, left, read_expr(cursor, binds + 1), span=cursor.since(start))
            elif power <= precedence.PREDICATE and _at_predicate(cursor):
                left = _read_predicate(cursor, left, start)
            else:
                return left


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
        else:
            break
    return base


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


def _at_predicate(cursor: Cursor) -> bool:
    if cursor.at("NOT"):
        return cursor.peek(1).key in _PREDICATES and cursor.peek(1).key != "IS"
    return cursor.peek().key in _PREDICATES or (cursor.peek().key in _NULL_TESTS and cursor.peek(1).key != "(")


def _read_predicate(cursor: Cursor, left: Expr, start: Token) -> Expr:
    negated = cursor.take("NOT")
    word = cursor.advance().key
    if word in _NULL_TESTS:
        return IsNull(left, _NULL_TESTS[word], span=cursor.since(start))
    if word == "IS":
        return _read_is(cursor, left, start)
    if word == "IN":
        return _read_in(cursor, left, negated, start)
    if word == "BETWEEN":
        low = read_expr(cursor, precedence.COMPARISON)
        cursor.expect("AND")
        high = read_expr(cursor, precedence.COMPARISON)
        return Between(left, low, high, negated, span=cursor.since(start))
    pattern = read_expr(cursor, precedence.COMPARISON)
    escape = read_expr(cursor, precedence.COMPARISON) if cursor.take("ESCAPE") else None
    return Like(_LIKES[word], left, pattern, escape, negated, span=cursor.since(start))


def _read_is(cursor: Cursor, left: Expr, start: Token) -> Expr:
    negated = cursor.take("NOT")
    if cursor.take("NULL"):
        return IsNull(left, negated, span=cursor.since(start))
    if cursor.take("DISTINCT", "FROM"):
        return IsDistinct(left, read_expr(cursor, precedence.COMPARISON), negated, span=cursor.since(start))
    if cursor.at_any(("TRUE", "FALSE")):
        # NULL IS TRUE is false, not NULL: that is what "not distinct from" says.
        token = cursor.advance()
        return IsDistinct(left, Literal(token.key == "TRUE", span=token.span), not negated, span=cursor.since(start))
    raise cursor.expected("NULL, TRUE, FALSE or DISTINCT FROM after IS", "NULL", "TRUE", "FALSE", "DISTINCT")


def _read_in(cursor: Cursor, left: Expr, negated: bool, start: Token) -> Expr:
    cursor.expect("(")
    if cursor.at_any(("SELECT", "WITH")):
        query = cursor.query()
        cursor.expect(")")
        return InQuery(left, query, negated, span=cursor.since(start))
    items = cursor.between_commas(read_expr)
    cursor.expect(")")
    return InList(left, items, negated, span=cursor.since(start))
