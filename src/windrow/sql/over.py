"""OVER (...), and what may stand before and inside it."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Call, Case, Expr, Frame, Literal, Over, OverSpec, SortKey, Star
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.lengths import read_duration, starts_interval
from windrow.sql.words import RESERVED

# They skip NULLs, so that a row which FILTER leaves out may as well have a NULL.
_SKIP_NULLS = frozenset(
    "sum avg mean min max count count_if stddev stddev_samp stddev_pop variance var_samp var_pop collect_list array_agg collect_set "
    "bool_and bool_or every some any bit_and bit_or bit_xor median".split()
)


def read_over(cursor: Cursor, call: Expr, start: Token) -> Expr:
    """A call, with OVER (...) or OVER name behind it if that stands there."""
    if not isinstance(call, Call) or not cursor.at("OVER"):
        return call
    if cursor.peek(1).kind is Kind.WORD and cursor.peek(1).key not in RESERVED:
        spec = _read_named(cursor)
    elif cursor.take("OVER", "("):
        spec = read_spec(cursor)
    else:
        return call
    return _before_over(call, spec, start, cursor)


def _before_over(call: Call, spec: OverSpec, start: Token, cursor: Cursor) -> Expr:
    """FILTER and DISTINCT in words that Spark takes before OVER, where there are any."""
    span, name = cursor.since(start), call.name.lower()
    if call.distinct and name in ("min", "max"):
        call = replace(call, distinct=False)
    if call.where is not None and name in _SKIP_NULLS and not call.within_group:
        value = Literal(1) if name == "count" and isinstance(call.args[0], Star) else call.args[0]
        call = replace(call, args=(Case(None, ((call.where, value),)), *call.args[1:]), where=None)
    if call.distinct and name == "count" and len(call.args) == 1 and call.where is None:
        values = replace(call, name="collect_set", distinct=False)
        return Call("cardinality", (Over(values, spec, span=span),), span=span, name_span=call.name_span)
    return Over(call, spec, span=span)


def _read_named(cursor: Cursor) -> OverSpec:
    """OVER w: what WINDOW w AS (...) further on in the same query says."""
    cursor.expect("OVER")
    name = cursor.advance()
    at = _definition(cursor, name)
    if at is None:
        hint = "write OVER (PARTITION BY ... ORDER BY ...)"
        raise cursor.fault(codes.SYNTAX, f"there is no WINDOW {name.text} AS (...) in this query", name.span, hint)
    with cursor.elsewhere(at):
        return read_spec(cursor)


def _definition(cursor: Cursor, name: Token) -> int | None:
    """How many tokens ahead the parentheses of a named window are open: in the same query, not in one inside it."""
    ahead = depth = 0
    while cursor.peek(ahead).kind is not Kind.END and depth >= 0:
        depth += {"(": 1, ")": -1}.get(cursor.peek(ahead).key, 0)
        is_named = cursor.peek(ahead + 1).text.lower() == name.text.lower()
        words = [cursor.peek(ahead + number).key for number in (0, 2, 3)]
        if depth == 0 and is_named and words[0] in ("WINDOW", ",") and words[1:] == ["AS", "("]:
            return ahead + 4
        ahead += 1
    return None


def at_named_windows(cursor: Cursor) -> bool:
    """Whether WINDOW w AS (...) is next, and not a window of time."""
    return cursor.at("WINDOW") and [cursor.peek(number).key for number in (2, 3)] == ["AS", "("]


def skip_named_windows(cursor: Cursor) -> None:
    """Past WINDOW w AS (...), v AS (...): each is read where it is used."""
    cursor.expect("WINDOW")
    while True:
        cursor.name("the name of a window")
        cursor.expect("AS", "(")
        read_spec(cursor)
        if not cursor.take(","):
            return


def read_spec(cursor: Cursor) -> OverSpec:
    """What stands inside the parentheses of OVER, and the closing one."""
    opened = cursor.last()
    buffer = None
    if cursor.take("ROWS", "WINDOW", "BUFFER"):
        buffer = cursor.count("the number of rows to keep")
        cursor.expect("ROWS")
    partition_by = cursor.between_commas(Cursor.expr) if cursor.take("PARTITION", "BY") else ()
    order_by: tuple[SortKey, ...] = cursor.between_commas(Cursor.sort_key) if cursor.take("ORDER", "BY") else ()
    frame = _read_frame(cursor) if cursor.at_any(("ROWS", "RANGE")) else None
    if not cursor.at(")"):
        raise cursor.expected('PARTITION BY, ORDER BY, a frame or ")" inside OVER', "PARTITION BY", "ORDER BY", "ROWS", "RANGE")
    cursor.advance()
    return OverSpec(partition_by, order_by, frame, buffer, span=cursor.since(opened))


def _read_frame(cursor: Cursor) -> Frame:
    """ROWS BETWEEN a AND b, or ROWS a, which ends at the current row."""
    start = cursor.advance()
    is_range = start.key == "RANGE"
    times: set[bool] = set()
    if cursor.take("BETWEEN"):
        first = _read_bound(cursor, "PRECEDING", times, is_range=is_range)
        cursor.expect("AND")
        last = _read_bound(cursor, "FOLLOWING", times, is_range=is_range)
    else:
        first, last = _read_bound(cursor, "PRECEDING", times, is_range=is_range), 0
    if len(times) > 1:
        raise cursor.fault(
            codes.SYNTAX, "one bound is a length of time and the other a number", cursor.since(start), "write both as lengths"
        )
    if first is not None and last is not None and first > last:
        raise cursor.fault(codes.SYNTAX, "this frame ends before it starts", cursor.since(start), "put the earlier bound first")
    return Frame(first, last, is_range, True in times, span=cursor.since(start))


def _read_bound(cursor: Cursor, open_side: str, times: set[bool], *, is_range: bool) -> int | None:
    """``times`` notes whether a bound that is neither open nor the row itself is a length of time."""
    if cursor.take("CURRENT", "ROW"):
        return 0
    if cursor.take("UNBOUNDED"):
        cursor.expect(open_side)
        return None
    is_time = is_range and (starts_interval(cursor) or cursor.peek().kind is Kind.DURATION)
    times.add(is_time)
    number = read_duration(cursor) if is_time else cursor.count("UNBOUNDED, CURRENT ROW or a number of rows", least=0)
    if cursor.take("PRECEDING"):
        return -number
    if cursor.take("FOLLOWING"):
        return number
    raise cursor.expected("PRECEDING or FOLLOWING", "PRECEDING", "FOLLOWING")
