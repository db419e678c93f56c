"""What a query reads: streams and tables by name, derived tables, joins and lateral views."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model.expr import Binary, Call, Column, Exists, Expr, Lambda, Literal, Star
from windrow.model.query import DerivedSource, Join, JoinKind, LateralView, NamedSource, Select, SelectItem, Source, Within
from windrow.sql import codes
from windrow.sql.asof import read_asof_join, starts_asof
from windrow.sql.column_lists import read_column_list, with_columns
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.layout import render_window
from windrow.sql.lengths import read_duration
from windrow.sql.window_functions import WindowTable, at_window_table, read_window_table, with_window_table
from windrow.sql.words import quote_name


@dataclass(frozen=True)
class From:
    """What follows FROM, up to the first clause; ``window`` is there if the source is a window table function."""

    source: Source
    joins: tuple[Join, ...]
    views: tuple[LateralView, ...]
    window: WindowTable | None = None
    # What [LEFT] SEMI JOIN and ANTI JOIN ask of each row.
    conditions: tuple[Expr, ...] = ()


def read_from(cursor: Cursor) -> From:
    """What follows FROM, up to the first clause."""
    window = read_window_table(cursor) if at_window_table(cursor) else None
    source = _read_source(cursor) if window is None else window.source
    joins: list[Join] = []
    views: list[LateralView] = []
    conditions: list[Expr] = []
    while True:
        start = cursor.peek()
        if (is_outer := _take_unnest(cursor)) is not None:
            views.append(_read_unnest(cursor, start, is_outer))
        elif views and cursor.at_any((",", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "ASOF")):
            break
        elif cursor.take(","):
            joins.append(Join(JoinKind.CROSS, _read_source(cursor), span=cursor.since(start)))
        elif (negated := _take_semi_join(cursor)) is not None:
            conditions.append(_read_semi_join(cursor, start, negated))
        elif starts_asof(cursor):
            joins.append(read_asof_join(cursor, _read_source))
        elif kind := _read_join_kind(cursor):
            joins.append(_read_join(cursor, kind, start, is_of_windows=window is not None))
        else:
            break
    if window is not None and any(_is_of_windows(join.source) for join in joins):
        # Window tables on both sides: each gives rows with their bounds, and the condition says which meet.
        source, window = _rows_of_windows(cursor, window), None
    while cursor.take("LATERAL"):
        views.append(_read_lateral_view(cursor))
    if views and cursor.at_any(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "ASOF", ",")):
        raise cursor.fault(codes.MISPLACED, "joins come before LATERAL VIEW and UNNEST", hint="move it behind the join")
    return From(source, tuple(joins), tuple(views), window, tuple(conditions))


def _rows_of_windows(cursor: Cursor, table: WindowTable) -> DerivedSource:
    """The rows of a window table, as the derived table SELECT * FROM it."""
    query = with_window_table(cursor, Select((SelectItem(Star()),), table.source, span=table.span), table)
    return DerivedSource(query, table.source.alias or table.source.name, span=table.span)


def _is_of_windows(source: Source) -> bool:
    return isinstance(source, DerivedSource) and isinstance(source.query, Select) and source.query.window is not None


def _take_semi_join(cursor: Cursor) -> bool | None:
    """Past SEMI JOIN or ANTI JOIN, if that is next: whether rows that find something are left out."""
    for side in (("LEFT",), ()):
        for word in ("SEMI", "ANTI"):
            if cursor.take(*side, word, "JOIN"):
                return word == "ANTI"
    return None


def _read_semi_join(cursor: Cursor, start: Token, negated: bool) -> Expr:
    """SEMI JOIN u ON condition is WHERE EXISTS (SELECT 1 FROM u WHERE condition)."""
    source = _read_source(cursor)
    cursor.expect("ON")
    condition = cursor.expr()
    span = cursor.since(start)
    asked = Select((SelectItem(Literal(1)),), source, where=condition, span=span)
    return Exists(asked, negated, span=span)


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
    if cursor.take("WITH", "ORDINALITY"):
        call = _numbered(call)
    alias = cursor.alias()
    listed = read_column_list(cursor) if alias is not None else None
    columns = () if listed is None else listed.names
    if cursor.take("ON") and not cursor.take("TRUE"):
        raise cursor.fault(codes.SYNTAX, "UNNEST is joined to its own row: ON TRUE", hint="write ON TRUE, and filter in WHERE")
    return LateralView(call, alias, columns, is_outer, span=cursor.since(start))


def _numbered(call: Call) -> Call:
    """The items of an array with their positions, counted from 1: WITH ORDINALITY."""
    item, position = Column("_item"), Column("_position")
    pair = Call("named_struct", (Literal("item"), item, Literal("position"), Binary("+", position, Literal(1))), span=call.span)
    pairs = Call("transform", (*call.args, Lambda((item.name, position.name), pair, span=call.span)), span=call.span)
    return Call("inline", (pairs,), span=call.span, name_span=call.name_span)


def _read_source(cursor: Cursor) -> Source:
    start = cursor.peek()
    if cursor.take("("):
        query = cursor.query()
        cursor.expect(")")
        alias = cursor.alias()
        columns = read_column_list(cursor) if alias is not None else None
        return DerivedSource(with_columns(cursor, alias or "", query, columns), alias, span=cursor.since(start))
    if at_window_table(cursor):
        table = read_window_table(cursor)
        hint = f"write JOIN {quote_name(table.source.name)} ... {render_window(table.window)} once, behind the joins"
        raise cursor.fault(codes.FOREIGN, "streams that are joined in a window have one WINDOW clause", table.span, hint)
    is_history = cursor.take("HISTORY", "OF")
    start = cursor.peek()
    name = cursor.name("the name of a stream or table")
    as_of = _read_as_of(cursor)
    alias = cursor.alias()
    if alias is not None and (listed := read_column_list(cursor)) is not None:
        hint = f"write FROM (SELECT first AS {listed.names[0]}, ... FROM {quote_name(name)}) AS {quote_name(alias)}"
        raise cursor.fault(codes.FOREIGN, "the columns of a stream keep their names: a query gives them others", listed.span, hint)
    if as_of is None:
        as_of = _read_as_of(cursor)
    # The span is the name alone: that is what a caret about an unknown stream points at.
    return NamedSource(name, alias, as_of, is_history, span=start.span)


def _read_as_of(cursor: Cursor) -> Expr | None:
    if not cursor.take("FOR"):
        return None
    cursor.expect("SYSTEM_TIME", "AS", "OF")
    if any(cursor.take(word, "(", ")") for word in _NOW):
        # The version in force as the row arrives is the one at hand.
        return None
    return cursor.expr()


_NOW = ("PROCTIME", "NOW", "CURRENT_TIMESTAMP")


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
            hint = f"write LEFT {cursor.peek().key} JOIN, with the stream first"
            raise cursor.fault(codes.SYNTAX, f"expected JOIN, found {cursor.peek().shown}", hint=hint)
        cursor.expect("JOIN")
        return JoinKind[word.key]
    return None


def _read_join(cursor: Cursor, kind: JoinKind, start: Token, *, is_of_windows: bool) -> Join:
    is_window = is_of_windows and at_window_table(cursor)
    source = _rows_of_windows(cursor, read_window_table(cursor)) if is_window else _read_source(cursor)
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
