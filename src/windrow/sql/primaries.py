"""Operands: literals, columns, CASE, CAST, subqueries and what stands in parentheses."""

from __future__ import annotations

import math
from decimal import Decimal

from windrow.model import types
from windrow.model.expr import Call, Case, Cast, Column, Exists, Expr, Literal, ScalarQuery
from windrow.sql import codes
from windrow.sql.calls import read_call, read_items, starts_call
from windrow.sql.cursor import Cursor
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind
from windrow.sql.lengths import read_duration_literal, read_interval, starts_interval

_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
# Each with whether it gives NULL for what it cannot read; SAFE_CAST is BigQuery's word for it.
_CASTS = {"CAST": False, "TRY_CAST": True, "SAFE_CAST": True}
_TYPED_LITERALS = {
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMPTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
}


def read_primary(cursor: Cursor) -> Expr:
    """One operand, without the operators around it."""
    token = cursor.peek()
    match token.kind:
        case Kind.NUMBER:
            return _read_number(cursor)
        case Kind.STRING:
            return Literal(cursor.advance().text, span=token.span)
        case Kind.DURATION:
            return read_duration_literal(cursor)
        case Kind.SYMBOL if token.key == "(":
            return _read_parentheses(cursor)
        case Kind.SYMBOL if token.key == "[":
            return read_items(cursor, cursor.peek())
        case Kind.QUOTED:
            return read_call(cursor) if starts_call(cursor) else _read_column(cursor)
        case Kind.WORD:
            return _read_worded(cursor)
        case _:
            raise cursor.expected("an expression")


def _read_worded(cursor: Cursor) -> Expr:
    token = cursor.peek()
    if token.key in _CONSTANTS:
        return Literal(_CONSTANTS[cursor.advance().key], span=token.span)
    if token.key == "CASE":
        return _read_case(cursor)
    if token.key in _CASTS and cursor.peek(1).key == "(":
        return _read_cast(cursor)
    if token.key in _TYPED_LITERALS and cursor.peek(1).kind is Kind.STRING:
        cursor.advance()
        text = cursor.advance()
        return Cast(Literal(text.text, span=text.span), _TYPED_LITERALS[token.key], span=cursor.since(token))
    if token.key == "ARRAY" and cursor.peek(1).key == "<":
        return _read_typed_array(cursor)
    if starts_interval(cursor):
        return read_interval(cursor)
    if at_exists(cursor):
        return _read_exists(cursor)
    if starts_call(cursor):
        return read_call(cursor)
    if cursor.is_reserved():
        raise cursor.expected("an expression")
    return _read_column(cursor)


def _read_typed_array(cursor: Cursor) -> Cast:
    """``ARRAY<INT>[1, 2]``, as BigQuery writes it."""
    start = cursor.peek()
    type_ = read_type(cursor)
    if not cursor.at("[") and isinstance(type_, types.Array):
        # Empty brackets were read as those of an array of arrays.
        return Cast(Call("array", span=cursor.since(start)), type_.element, span=cursor.since(start))
    return Cast(read_items(cursor, start), type_, span=cursor.since(start))


def _read_number(cursor: Cursor) -> Literal:
    token = cursor.advance()
    if token.text.isdecimal():
        return Literal(int(token.text), span=token.span)
    if "e" not in token.text.lower():
        return Literal(Decimal(token.text), span=token.span)
    value = float(token.text)
    if math.isinf(value):
        raise cursor.fault(codes.BAD_LITERAL, f"the number {token.shown} is too large", token.span, "write a number up to 1.7e308")
    return Literal(value, span=token.span)


def _read_column(cursor: Cursor) -> Column:
    """``name`` or ``qualifier.name``; further dots are fields, which the caller adds."""
    start = cursor.peek()
    name = cursor.name("the name of a column")
    if cursor.at(".") and cursor.peek(1).kind in (Kind.WORD, Kind.QUOTED):
        cursor.advance()
        return Column(cursor.advance().text, name, span=cursor.since(start))
    return Column(name, span=start.span)


def _read_parentheses(cursor: Cursor) -> Expr:
    start = cursor.advance()
    if cursor.at_any(("SELECT", "WITH")):
        query = cursor.query()
        cursor.expect(")")
        return ScalarQuery(query, span=cursor.since(start))
    items = cursor.between_commas(lambda each: each.expr())
    cursor.expect(")")
    # A row of values: without the name of a function, so that comparisons know it.
    return items[0] if len(items) == 1 else Call("struct", items, span=cursor.since(start))


def at_exists(cursor: Cursor) -> bool:
    """Whether [NOT] EXISTS of a query is next; Spark has a function exists(array, x -> ...) as well."""
    ahead = 1 if cursor.at("NOT") else 0
    return [cursor.peek(ahead + i).key for i in range(2)] == ["EXISTS", "("] and cursor.peek(ahead + 2).key in ("SELECT", "WITH")


def _read_exists(cursor: Cursor) -> Exists:
    start = cursor.peek()
    negated = cursor.take("NOT")
    cursor.expect("EXISTS", "(")
    query = cursor.query()
    cursor.expect(")")
    return Exists(query, negated, span=cursor.since(start))


def _read_cast(cursor: Cursor) -> Cast:
    start = cursor.advance()
    cursor.expect("(")
    operand = cursor.expr()
    cursor.expect("AS")
    type_ = read_type(cursor)
    cursor.expect(")")
    return Cast(operand, type_, _CASTS[start.key], span=cursor.since(start))


def _read_case(cursor: Cursor) -> Case:
    start = cursor.advance()
    operand = None if cursor.at("WHEN") else cursor.expr()
    branches = []
    while cursor.take("WHEN"):
        condition = cursor.expr()
        cursor.expect("THEN")
        branches.append((condition, cursor.expr()))
    if not branches:
        raise cursor.expected("WHEN", "WHEN")
    otherwise = cursor.expr() if cursor.take("ELSE") else None
    if not cursor.take("END"):
        raise cursor.expected("WHEN, ELSE or END to close CASE" if otherwise is None else "END to close CASE", "WHEN", "ELSE", "END")
    return Case(operand, tuple(branches), otherwise, span=cursor.since(start))
