"""What a query reads: streams and tables by name, derived tables, joins and lateral views."""

from __future__ import annotations

from windrow.model.expr import Call, Expr, Interval
from windrow.model.query import DerivedSource, Join, JoinKind, LateralView, NamedSource, Source, Within
from windrow.sql import codes
from windrow.sql.cursor import Cursor, SyntaxFaultError
from windrow.sql.dialect import Kind, Token
from windrow.sql.durations import show_duration
from windrow.sql.lengths import read_duration, read_interval, starts_interval


def read_from(cursor: Cursor) -> tuple[Source, tuple[Join, ...], tuple[LateralView, ...]]:
    """What follows FROM, up to the first clause."""
    source = _read_source(cursor)
    joins: list[Join] = []
    views: list[LateralView] = []
    while True:
        start = cursor.peek()
        if (is_outer := _take_unnest(cursor)) is not None:
            views.append(_read_unnest(cursor, start, is_outer))
        elif views and cursor.at_any((",", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS")):
            break
        elif cursor.take(","):
            joins.append(Join(JoinKind.CROSS, _read_source(cursor), span=cursor.since(start)))
        elif kind := _read_join_kind(cursor):
            joins.append(_read_join(cursor, kind, start))
        else:
            break
    while cursor.take("LATERAL"):
        views.append(_read_lateral_view(cursor))
    if views and cursor.at_any(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", ",")):
        raise cursor.fault(codes.MISPLACED, "joins come before LATERAL VIEW and UNNEST", hint="move it behind the join")
    return source, tuple(joins), tuple(views)


_BEFORE_UNNEST = ((",",), ("CROSS", "JOIN"), ("INNER", "JOIN"), ("JOIN",), ("LEFT", "OUTER", "JOIN"), ("LEFT", "JOIN"))


def _take_unnest(cursor: Cursor) -> bool | None:
    """Past the words before UNNEST, if that is what is joined: whether rows without anything stay."""
    for words in _BEFORE_UNNEST:
        for lateral in ((), ("LATERAL",)):
            if cursor.at(*words, *lateral, "UNNEST", "("):
                cursor.take(*words, *lateral)
                return words[0] == "LEFT"
    return None


def _read_unnest(cursor: Cursor, start: Token, is_outer: bool) -> LateralView:
    """UNNEST(items) [AS] alias [(columns)] [ON TRUE]."""
    call = cursor.expr()
    assert isinstance(call, Call)
    if cursor.at("WITH", "ORDINALITY"):
        hint = "write LATERAL VIEW posexplode(items) v AS position, item, which counts from 0"
        raise cursor.fault(codes.SYNTAX, "WITH ORDINALITY is not part of the dialect", hint=hint)
    alias = cursor.alias()
    columns: tuple[str, ...] = ()
    if alias is not None and cursor.at("("):
        columns = cursor.in_parentheses(lambda inner: inner.between_commas(lambda each: each.name("the name of a column")))
    if cursor.take("ON") and not cursor.take("TRUE"):
        raise cursor.fault(codes.SYNTAX, "UNNEST is joined to its own row: ON TRUE", hint="write ON TRUE, and filter in WHERE")
    return LateralView(call, alias, columns, is_outer, span=cursor.since(start))


def _read_source(cursor: Cursor) -> Source:
    start = cursor.peek()
    if cursor.take("("):
        query = cursor.query()
        cursor.expect(")")
        alias = cursor.alias()
        return DerivedSource(query, alias, span=cursor.since(start))
    if cursor.at("TABLE", "(") or (start.key in _WINDOW_TABLES and cursor.peek(1).key == "("):
        raise _window_table(cursor)
    name = cursor.name("the name of a stream or table")
    as_of = _read_as_of(cursor)
    alias = cursor.alias()
    if as_of is None:
        as_of = _read_as_of(cursor)
    # The span is the name alone: that is what a caret about an unknown stream points at.
    return NamedSource(name, alias, as_of, span=start.span)


# Flink's table functions, and what they are called in a WINDOW clause.
_WINDOW_TABLES = {"TUMBLE": "TUMBLING", "HOP": "SLIDING", "SESSION": "SESSION", "CUMULATE": "TUMBLING"}


def _window_table(cursor: Cursor) -> SyntaxFaultError:
    """Windows are a clause here: the hint says what TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL ...)) is in it."""
    start = cursor.peek()
    stream, kind = "stream", "TUMBLING"
    lengths: list[str] = []
    depth = 0
    while cursor.peek().kind is not Kind.END:
        token = cursor.peek()
        if starts_interval(cursor):
            length = read_interval(cursor)
            lengths += [show_duration(length.micros)] if isinstance(length, Interval) else []
            continue
        cursor.advance()
        kind = _WINDOW_TABLES.get(token.key, kind)
        if token.key == "TABLE" and cursor.peek().kind in (Kind.WORD, Kind.QUOTED) and cursor.peek(1).key != "(":
            stream = cursor.peek().text
        depth += {"(": 1, ")": -1}.get(token.key, 0)
        if not depth and token.key == ")":
            break
    # HOP names its slide first, the clause its size.
    hint = f"write FROM {stream} ... WINDOW {kind}({', '.join(reversed(lengths)) or '1m'})"
    return cursor.fault(codes.SYNTAX, "a window is a clause, not a table", cursor.since(start), hint)


def _read_as_of(cursor: Cursor) -> Expr | None:
    if not cursor.take("FOR"):
        return None
    cursor.expect("SYSTEM_TIME", "AS", "OF")
    return cursor.expr()


def _read_join_kind(cursor: Cursor) -> JoinKind | None:
    word = cursor.peek()
    if cursor.take("JOIN") or cursor.take("INNER", "JOIN"):
        return JoinKind.INNER
    if cursor.take("CROSS"):
        cursor.expect("JOIN")
        return JoinKind.CROSS
    if cursor.at_any(("LEFT", "RIGHT", "FULL")):
        cursor.advance()
        cursor.take("OUTER")
        if cursor.at_any(("SEMI", "ANTI")):
            negation = "NOT " if cursor.at("ANTI") else ""
            hint = f"write WHERE {negation}EXISTS (SELECT ...)"
            raise cursor.fault(codes.SYNTAX, f"expected JOIN, found {cursor.peek().shown}", hint=hint)
        cursor.expect("JOIN")
        return JoinKind[word.key]
    return None


def _read_join(cursor: Cursor, kind: JoinKind, start: Token) -> Join:
    source = _read_source(cursor)
    on: Expr | None = None
    using: tuple[str, ...] = ()
    within: Within | None = None
    while kind is not JoinKind.CROSS:
        word = cursor.peek()
        if cursor.take("ON"):
            _once(cursor, word, on is None and not using)
            on = cursor.expr()
        elif cursor.take("USING"):
            _once(cursor, word, on is None and not using)
            using = cursor.in_parentheses(lambda inner: inner.between_commas(lambda each: each.name("the name of a column")))
        elif cursor.take("WITHIN"):
            _once(cursor, word, within is None)
            within = _read_within(cursor, word)
        else:
            break
    if kind is JoinKind.CROSS and cursor.at_any(("ON", "USING", "WITHIN")):
        raise cursor.fault(codes.MISPLACED, f"CROSS JOIN takes no {cursor.peek().key}", hint="write JOIN instead of CROSS JOIN")
    if kind is not JoinKind.CROSS and on is None and not using:
        raise cursor.expected("ON or USING after JOIN", "ON", "USING", "WITHIN")
    return Join(kind, source, on, using, within, span=cursor.since(start))


def _once(cursor: Cursor, word: Token, is_first: bool) -> None:
    if not is_first:
        raise cursor.fault(codes.REPEATED, f"{word.key} is one too many for this JOIN", word.span, "keep one ON or USING, and one WITHIN")


def _read_within(cursor: Cursor, word: Token) -> Within:
    if cursor.take("("):
        before = _read_bound(cursor)
        cursor.expect(",")
        after = _read_bound(cursor)
        cursor.expect(")")
    else:
        before = after = _read_bound(cursor)
    return Within(before, after, span=cursor.since(word))


def _read_bound(cursor: Cursor) -> int:
    start = cursor.peek()
    micros = read_duration(cursor)
    if micros < 0:
        raise cursor.fault(codes.BAD_DURATION, "the lengths of WITHIN must not be negative", cursor.since(start), "WITHIN (10m, 5m)")
    return micros


def _read_lateral_view(cursor: Cursor) -> LateralView:
    start = cursor.last()
    cursor.expect("VIEW")
    is_outer = cursor.take("OUTER")
    token = cursor.peek()
    call = cursor.expr()
    if not isinstance(call, Call):
        raise cursor.fault(codes.SYNTAX, "LATERAL VIEW takes a generator", cursor.since(token), "write explode(items)")
    is_name = cursor.peek().kind is Kind.QUOTED or (cursor.peek().kind is Kind.WORD and not cursor.at("AS"))
    alias = cursor.alias() if is_name else None
    columns = cursor.between_commas(lambda inner: inner.name("the name of a column")) if cursor.take("AS") else ()
    return LateralView(call, alias, columns, is_outer, span=cursor.since(start))
