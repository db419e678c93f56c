"""CONSTRAINT name EXPECT (condition) [ON VIOLATION choice], an entry of its own in the list of a CREATE STREAM."""

from __future__ import annotations

from windrow.model.constraint import Constraint, OnViolation
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind
from windrow.sql.render import render_expr
from windrow.sql.words import nearest, quote_name

_CHOICES = tuple(each.value for each in OnViolation)
# What a constraint may say in other systems, in place of EXPECT.
_ELSEWHERE = ("CHECK", "UNIQUE", "PRIMARY", "FOREIGN")
# As Delta Live Tables spells them.
_SECOND_WORDS = {OnViolation.DROP: "ROW", OnViolation.FAIL: "UPDATE"}


def at_constraint(cursor: Cursor) -> bool:
    """Not a column that is called so: that has a type next, and no EXPECT after it."""
    if not cursor.at("CONSTRAINT"):
        return False
    third = cursor.peek(2)
    return third.key in ("EXPECT", *_ELSEWHERE) or (third.kind is Kind.WORD and nearest(third.text, ("EXPECT",)) is not None)


def read_constraint(cursor: Cursor, is_table: bool) -> Constraint:
    start = cursor.peek()
    if is_table:
        hint = "declare it on a stream: the one that feeds the table, or one that reads it"
        raise cursor.fault(codes.MISPLACED, "CONSTRAINT belongs to a stream, not to a table", start.span, hint)
    cursor.expect("CONSTRAINT")
    name = cursor.name("the name of a constraint")
    word = cursor.peek()
    if word.key in _ELSEWHERE:
        hint = f"write CONSTRAINT {quote_name(name)} EXPECT (condition) ON VIOLATION DEAD_LETTER | DROP | WARN | FAIL"
        raise cursor.fault(codes.FOREIGN, f"{word.key} is no constraint of a stream", word.span, hint)
    cursor.expect("EXPECT")
    condition = cursor.in_parentheses(lambda inner: inner.expr())
    then = _read_choice(cursor) if cursor.take("ON", "VIOLATION") else OnViolation.WARN
    return Constraint(name, condition, then, span=cursor.since(start))


def _read_choice(cursor: Cursor) -> OnViolation:
    token = cursor.peek()
    if token.key not in _CHOICES:
        close = nearest(token.text, _CHOICES) if token.kind is Kind.WORD else None
        hint = f"did you mean {close}?" if close else f"write ON VIOLATION {' | '.join(_CHOICES)}"
        raise cursor.fault(codes.UNKNOWN_CHOICE, f"expected {', '.join(_CHOICES)} after ON VIOLATION, found {token.shown}", hint=hint)
    choice = OnViolation(cursor.advance().key)
    if choice in _SECOND_WORDS:
        cursor.take(_SECOND_WORDS[choice])
    return choice


def render_constraint(constraint: Constraint) -> str:
    """A constraint as it is written, with what becomes of a row spelled out.

    >>> from windrow.model.expr import Binary, Column, Literal
    >>> render_constraint(Constraint("fair", Binary(">", Column("price"), Literal(0))))
    'CONSTRAINT fair EXPECT (price > 0) ON VIOLATION WARN'
    """
    expected = f"CONSTRAINT {quote_name(constraint.name)} EXPECT ({render_expr(constraint.condition)})"
    return f"{expected} ON VIOLATION {constraint.on_violation.value}"
