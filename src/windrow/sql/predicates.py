"""Conditions with words in them: IS, IN, BETWEEN, LIKE and their kin, and comparisons with ANY and ALL."""

from __future__ import annotations

from functools import reduce

from windrow.model.expr import (
    Between,
    Binary,
    Call,
    Column,
    Expr,
    InList,
    InQuery,
    IsDistinct,
    IsNull,
    Lambda,
    Like,
    Literal,
    Unary,
)
from windrow.sql import codes, precedence
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.patterns import regular_expression

_LIKES = {"LIKE": "LIKE", "ILIKE": "ILIKE", "RLIKE": "RLIKE", "REGEXP": "RLIKE"}
_PREDICATES = frozenset({"IS", "IN", "BETWEEN", *_LIKES})
# PostgreSQL's words for IS NULL and IS NOT NULL.
_NULL_TESTS = {"ISNULL": False, "NOTNULL": True}
_ANY, _ALL = ("ANY", "SOME"), ("ALL",)


def at_predicate(cursor: Cursor) -> bool:
    """Whether a condition about the operand that was read is next."""
    ahead = 1 if cursor.at("NOT") else 0
    if cursor.peek(ahead).key == "SIMILAR":
        return cursor.peek(ahead + 1).key == "TO"
    if ahead:
        return cursor.peek(1).key in _PREDICATES and cursor.peek(1).key != "IS"
    if cursor.at("~") or cursor.at("!", "~"):
        return True
    return cursor.peek().key in _PREDICATES or (cursor.peek().key in _NULL_TESTS and cursor.peek(1).key != "(")


def read_predicate(cursor: Cursor, left: Expr, start: Token) -> Expr:
    """A condition about an operand."""
    if cursor.at("~") or cursor.at("!", "~"):
        return _read_match(cursor, left, start)
    negated = cursor.take("NOT")
    word = cursor.advance().key
    if word in _NULL_TESTS:
        return IsNull(left, _NULL_TESTS[word], span=cursor.since(start))
    match word:
        case "IS":
            return _read_is(cursor, left, start)
        case "IN":
            return _read_in(cursor, left, negated, start)
        case "BETWEEN":
            return _read_between(cursor, left, negated, start)
        case "SIMILAR":
            return _read_similar(cursor, left, negated, start)
        case _:
            return _read_like(cursor, left, word, negated, start)


def _read_between(cursor: Cursor, left: Expr, negated: bool, start: Token) -> Expr:
    """BETWEEN a AND b; SYMMETRIC takes the bounds in either order."""
    is_symmetric = cursor.take("SYMMETRIC")
    if not is_symmetric:
        cursor.take("ASYMMETRIC")
    low = cursor.expr(precedence.COMPARISON)
    cursor.expect("AND")
    high = cursor.expr(precedence.COMPARISON)
    span = cursor.since(start)
    if not is_symmetric:
        return Between(left, low, high, negated, span=span)
    one, other = Between(left, low, high, negated, span=span), Between(left, high, low, negated, span=span)
    return Binary("AND" if negated else "OR", one, other, span=span)


def _read_like(cursor: Cursor, left: Expr, word: str, negated: bool, start: Token) -> Expr:
    """LIKE pattern, or LIKE ANY (pattern, ...) and LIKE ALL (pattern, ...)."""
    is_any, is_all = (cursor.at_any(words) and cursor.peek(1).key == "(" for words in (_ANY, _ALL))
    if not is_any and not is_all:
        pattern = cursor.expr(precedence.COMPARISON)
        escape = cursor.expr(precedence.COMPARISON) if cursor.take("ESCAPE") else None
        return Like(_LIKES[word], left, pattern, escape, negated, span=cursor.since(start))
    cursor.advance()
    patterns = cursor.in_parentheses(lambda inner: inner.between_commas(lambda each: each.expr()))
    span = cursor.since(start)
    # NOT LIKE ANY: there is one that it is not like.
    return _joined("OR" if is_any else "AND", [Like(_LIKES[word], left, pattern, None, negated, span=span) for pattern in patterns])


def _read_similar(cursor: Cursor, left: Expr, negated: bool, start: Token) -> Expr:
    """SIMILAR TO 'a%': a regular expression with the wildcards of LIKE."""
    cursor.expect("TO")
    token = cursor.peek()
    if token.kind is not Kind.STRING:
        raise cursor.fault(codes.SYNTAX, "SIMILAR TO takes a text", token.span, "write RLIKE with a regular expression")
    cursor.advance()
    pattern = Literal(regular_expression(token.text), span=token.span)
    return Like("RLIKE", left, pattern, None, negated, span=cursor.since(start))


def _read_match(cursor: Cursor, left: Expr, start: Token) -> Expr:
    """PostgreSQL's ~, !~, ~* and !~*, where * is for any case of letters."""
    negated = cursor.take("!")
    cursor.expect("~")
    is_any_case = cursor.take("*")
    pattern = cursor.expr(precedence.COMPARISON + 1)
    if is_any_case:
        flag = "(?i)"
        is_text = isinstance(pattern, Literal) and isinstance(pattern.value, str)
        pattern = (
            Literal(flag + pattern.value, span=pattern.span)
            if is_text and isinstance(pattern, Literal)
            else Binary("||", Literal(flag), pattern, span=pattern.span)
        )
    return Like("RLIKE", left, pattern, None, negated, span=cursor.since(start))


def _read_is(cursor: Cursor, left: Expr, start: Token) -> Expr:
    negated = cursor.take("NOT")
    if cursor.take("NULL") or cursor.take("UNKNOWN"):
        return IsNull(left, negated, span=cursor.since(start))
    if cursor.take("DISTINCT", "FROM"):
        return IsDistinct(left, cursor.expr(precedence.COMPARISON), negated, span=cursor.since(start))
    if cursor.at_any(("TRUE", "FALSE")):
        # NULL IS TRUE is false, not NULL: that is what "not distinct from" says.
        token = cursor.advance()
        return IsDistinct(left, Literal(token.key == "TRUE", span=token.span), not negated, span=cursor.since(start))
    if cursor.take("JSON"):
        cursor.take("VALUE")
        parsed = Call("try_parse_json", (left,), span=cursor.since(start))
        return IsNull(parsed, not negated, span=cursor.since(start))
    raise cursor.expected("NULL, TRUE, FALSE or DISTINCT FROM after IS", "NULL", "TRUE", "FALSE", "DISTINCT")


def _read_in(cursor: Cursor, left: Expr, negated: bool, start: Token) -> Expr:
    if cursor.at("UNNEST", "("):
        # BigQuery: x IN UNNEST(items) is x = ANY (items).
        found = _read_quantified(cursor, "=", left, start, "exists", "OR")
        return Unary("NOT", found, span=found.span) if negated else found
    cursor.expect("(")
    if cursor.at_any(("SELECT", "WITH")):
        query = cursor.query()
        cursor.expect(")")
        return InQuery(left, query, negated, span=cursor.since(start))
    items = cursor.between_commas(lambda inner: inner.expr())
    cursor.expect(")")
    span = cursor.since(start)
    if row_items(left) is None:
        return InList(left, items, negated, span=span)
    found = _joined("OR", [compared("=", left, item, cursor, start) for item in items])
    return Unary("NOT", found, span=span) if negated else found


def read_comparison(cursor: Cursor, operator: str, left: Expr, start: Token) -> Expr:
    """What follows a comparison: an operand, or ANY (...) and ALL (...) of several."""
    for words, function, chained in ((_ANY, "exists", "OR"), (_ALL, "forall", "AND")):
        if cursor.at_any(words) and cursor.peek(1).key == "(":
            return _read_quantified(cursor, operator, left, start, function, chained)
    return compared(operator, left, cursor.expr(precedence.COMPARISON + 1), cursor, start)


def _read_quantified(cursor: Cursor, operator: str, left: Expr, start: Token, function: str, chained: str) -> Expr:
    """``x = ANY (items)`` of an array, ``x = ANY (a, b)`` of a list, ``x = ANY (SELECT ...)`` and ``x != ALL (SELECT ...)``."""
    word = cursor.advance()
    cursor.expect("(")
    if cursor.at_any(("SELECT", "WITH")):
        if (operator, function) not in (("=", "exists"), ("!=", "forall")):
            hint = "compare with the least or greatest: x > (SELECT MAX(y) FROM ...)"
            raise cursor.fault(codes.SYNTAX, f"{operator} {word.key} takes no query", cursor.since(word), hint)
        query = cursor.query()
        cursor.expect(")")
        return InQuery(left, query, operator == "!=", span=cursor.since(start))
    items = cursor.between_commas(lambda inner: inner.expr())
    cursor.expect(")")
    span = cursor.since(start)
    if len(items) > 1:
        return _joined(chained, [Binary(operator, left, item, span=span) for item in items])
    condition = Lambda((_ITEM,), Binary(operator, left, Column(_ITEM), span=span), span=span)
    return Call(function, (items[0], condition), span=span, name_span=word.span)


_ITEM = "_item"


def row_items(expr: Expr) -> tuple[Expr, ...] | None:
    """The values of ``(a, b)``; None of anything else."""
    is_row = isinstance(expr, Call) and expr.name == "struct" and expr.name_span is None
    return expr.args if is_row and isinstance(expr, Call) else None


def compared(operator: str, left: Expr, right: Expr, cursor: Cursor, start: Token) -> Expr:
    """A comparison; of rows, that of their values one by one."""
    span, ours, theirs = cursor.since(start), row_items(left), row_items(right)
    if ours is None or operator not in ("=", "!="):
        return Binary(operator, left, right, span=span)
    if theirs is None:
        hint = "write as many values on both sides: (a, b) = (1, 2)"
        raise cursor.fault(codes.SYNTAX, "a row of values is compared with one value", right.span or span, hint)
    if len(ours) != len(theirs):
        raise cursor.fault(
            codes.SYNTAX, f"rows of {len(ours)} and of {len(theirs)} values are compared", span, "write as many on both sides"
        )
    pairs = [Binary(operator, one, other, span=span) for one, other in zip(ours, theirs, strict=True)]
    return _joined("AND" if operator == "=" else "OR", pairs)


def _joined(operator: str, parts: list[Expr] | list[Binary] | list[Like]) -> Expr:
    listed: list[Expr] = list(parts)
    return reduce(lambda one, other: Binary(operator, one, other, span=one.span), listed)
