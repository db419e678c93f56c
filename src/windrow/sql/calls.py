"""Function calls, with the few that have words between their arguments."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Binary, Call, Column, Expr, Interval, Lambda, Literal, Star
from windrow.model.window_kinds import SPELLINGS
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind, Token
from windrow.sql.durations import UNITS as DURATIONS
from windrow.sql.json_calls import JSON_CALLS, read_json_call
from windrow.sql.over import read_over
from windrow.sql.precedence import COMPARISON
from windrow.sql.render import render_expr
from windrow.sql.spellings import spelled_here
from windrow.sql.words import BARE_CALLS, RESERVED_CALLS, UNIT_CALLS, UNIT_SPELLINGS, UNITS

WINDOW_BOUNDS = {f"{kind}_{bound}": f"_window_{bound.lower()}" for kind in SPELLINGS for bound in ("START", "END")}
"""Functions that are the bounds of a window, and the system columns that hold them."""

# Words that may stand where other calls have commas: SUBSTRING(a FROM b FOR c) is substring(a, b, c).
_SEPARATORS = {
    "SUBSTRING": ("FROM", "FOR"),
    "SUBSTR": ("FROM", "FOR"),
    "OVERLAY": ("PLACING", "FROM", "FOR"),
    "POSITION": ("IN",),
}
_BRACKETED = ("ARRAY", "MAP")
_TRIMS = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def starts_call(cursor: Cursor) -> bool:
    token = cursor.peek()
    if token.key in BARE_CALLS or (token.key in _BRACKETED and cursor.peek(1).key == "["):
        return True
    is_word = token.kind is Kind.WORD and (token.key in RESERVED_CALLS or not cursor.is_reserved())
    return (is_word or token.kind is Kind.QUOTED) and cursor.peek(1).key == "("


def read_call(cursor: Cursor) -> Expr:
    """A call with everything that may follow its parentheses."""
    start = cursor.advance()
    if not cursor.at("("):
        return _read_bare(cursor, start)
    cursor.advance()
    if start.key in WINDOW_BOUNDS and cursor.take(")"):
        return Column(WINDOW_BOUNDS[start.key], span=cursor.since(start))
    if start.key in JSON_CALLS:
        made = read_json_call(cursor, start)
        cursor.expect(")")
        return replace(made, span=cursor.since(start))
    if start.key == "EXTRACT" and cursor.peek(1).key == "FROM":
        call = _read_extract(cursor)
    elif start.key == "TRIM":
        call = _read_trim(cursor, start)
    elif start.key == "STRUCT":
        call = _read_struct(cursor, start)
    elif start.key in ("FLOOR", "CEIL"):
        call = _read_rounding(cursor, start)
    elif start.key in _SEPARATORS:
        call = Call(start.text, _read_separated(cursor, _SEPARATORS[start.key]))
    else:
        call = _with_unit(cursor, _read_arguments(cursor, start))
    cursor.expect(")")
    call = replace(call, name_span=start.span, span=cursor.since(start))
    return read_over(cursor, spelled_here(_read_suffixes(cursor, call, start)), start)


def _with_unit(cursor: Cursor, call: Call) -> Call:
    """DATEADD(DAY, 1, ts): a bare unit is no column; it is kept as text, whichever way it was written."""
    if UNIT_CALLS.get(call.name.upper()) != len(call.args) or (len(call.args) == 2 and isinstance(call.args[0], Literal)):
        return call
    match call.args[0]:
        case Column(name=name, qualifier=None) | Literal(value=str(name)):
            unit = UNIT_SPELLINGS.get(name.upper())
        case _:
            name, unit = "an expression", None
    if unit is not None:
        return replace(call, args=(Literal(unit, span=call.args[0].span), *call.args[1:]))
    if len(call.args) == 3:
        hint = f"write one of {', '.join(UNITS)}"
        last = UNIT_SPELLINGS.get(str(getattr(call.args[2], "name", "")).upper())
        if last is not None:
            # BigQuery's DATE_DIFF(end, start, DAY).
            first, second = (render_expr(arg) for arg in (call.args[1], call.args[0]))
            hint = f"the unit stands first, and the later time last: {call.name}({last}, {first}, {second})"
        raise cursor.fault(codes.SYNTAX, f"expected a unit of time first in {call.name}, found {name}", call.args[0].span, hint)
    return call


def _read_bare(cursor: Cursor, start: Token) -> Call:
    """CURRENT_TIMESTAMP, ARRAY[1, 2], or MAP['a', 1]."""
    if not cursor.at("["):
        return Call(start.text, name_span=start.span, span=start.span)
    return replace(read_items(cursor, start), name=start.key.lower())


def read_items(cursor: Cursor, start: Token) -> Call:
    """``[1, 2]``, alone or behind the word ARRAY."""
    cursor.expect("[")
    args = () if cursor.at("]") else cursor.between_commas(Cursor.expr)
    cursor.expect("]")
    return Call("array", args, name_span=start.span, span=cursor.since(start))


def _read_extract(cursor: Cursor) -> Call:
    field = cursor.advance()
    if field.kind not in (Kind.WORD, Kind.STRING):
        raise cursor.fault(codes.SYNTAX, f"expected a field of time, found {field.shown}", field.span, "write HOUR")
    cursor.expect("FROM")
    return Call("date_part", (Literal(field.text.lower(), span=field.span), cursor.expr()))


def _read_rounding(cursor: Cursor, start: Token) -> Call:
    """FLOOR(x), or FLOOR(ts TO HOUR), which is DATE_TRUNC."""
    call = _read_arguments(cursor, start)
    if len(call.args) != 1 or not cursor.at("TO"):
        return call
    cursor.advance()
    unit = UNIT_SPELLINGS.get(cursor.peek().key)
    if unit is None:
        raise cursor.expected("a unit of time", *UNITS)
    time = call.args[0]
    if start.key != "FLOOR":
        length = DURATIONS.get(unit.lower())
        if length is None:
            hint = f"write DATE_TRUNC('{unit}', ts) + INTERVAL '1' {unit}, if no time is the first of its {unit}"
            raise cursor.fault(codes.SYNTAX, f"a time is not rounded up to a {unit}", hint=hint)
        # The last instant before the next unit begins; a time that begins one stays.
        time = Binary("+", time, Interval(length - 1, span=time.span), span=time.span)
    token = cursor.advance()
    return Call("DATE_TRUNC", (Literal(unit, span=token.span), time))


def _read_trim(cursor: Cursor, start: Token) -> Call:
    if cursor.at_any(_TRIMS) and cursor.peek(1).key not in (",", ")", "."):
        side = _TRIMS[cursor.advance().key]
        what = None if cursor.at("FROM") else cursor.expr()
        cursor.expect("FROM")
        return _trim(side, what, cursor.expr())
    call = _read_arguments(cursor, start)
    if len(call.args) == 1 and cursor.take("FROM"):
        return _trim("btrim", call.args[0], cursor.expr())
    return call


def _trim(side: str, what: Expr | None, text: Expr) -> Call:
    if what is None:
        return Call(side, (text,))
    # Spark's ltrim and rtrim take what to remove first, its btrim takes it last.
    return Call(side, (text, what) if side == "btrim" else (what, text))


def _read_struct(cursor: Cursor, start: Token) -> Call:
    """STRUCT(a, b), or STRUCT(x AS a, y AS b), which is Spark's named_struct."""
    parts: list[tuple[Expr, Literal | None]] = []
    while not cursor.at(")") and (not parts or cursor.take(",")):
        value = cursor.expr()
        name = Literal(cursor.name("a name after AS"), span=cursor.last().span) if cursor.take("AS") else None
        parts.append((value, name))
    if all(name is None for _, name in parts):
        return Call(start.text, tuple(value for value, _ in parts))
    args: list[Expr] = []
    for number, (value, name) in enumerate(parts, 1):
        own_name = value.name if isinstance(value, Column) else f"col{number}"
        args += [name or Literal(own_name, span=value.span), value]
    return Call("named_struct", tuple(args))


def _read_separated(cursor: Cursor, words: tuple[str, ...]) -> tuple[Expr, ...]:
    if cursor.at(")"):
        return ()
    args = [cursor.expr(COMPARISON)]
    if not cursor.at(words[0]):
        while cursor.take(","):
            args.append(cursor.expr())
        return tuple(args)
    return (*args, *(cursor.expr() for word in words if cursor.take(word)))


def _read_arguments(cursor: Cursor, start: Token) -> Call:
    distinct = cursor.take("DISTINCT")
    if not distinct:
        cursor.take("ALL")
    if cursor.at(")") and not distinct:
        return Call(start.text)
    args = cursor.between_commas(lambda inner: _read_argument(inner, start))
    ignore_nulls = cursor.take("IGNORE", "NULLS")
    if not ignore_nulls:
        cursor.take("RESPECT", "NULLS")
    # FIRST(x ORDER BY t) says the same as FIRST(x) WITHIN GROUP (ORDER BY t).
    ordered = cursor.between_commas(Cursor.sort_key) if cursor.take("ORDER", "BY") else ()
    return Call(start.text, args, distinct, within_group=ordered, ignore_nulls=ignore_nulls)


def _read_argument(cursor: Cursor, call: Token) -> Expr:
    star = read_star(cursor)
    if star is not None:
        if call.key != "COUNT":
            raise cursor.fault(codes.SYNTAX, f'"*" is an argument of COUNT only, not of {call.text}', star.span, "name a column")
        return star
    return _read_lambda(cursor) if _at_lambda(cursor) else cursor.expr()


def read_star(cursor: Cursor) -> Star | None:
    """``*`` or ``t.*``, if it is next."""
    start = cursor.peek()
    if cursor.take("*"):
        return Star(span=start.span)
    is_name = start.kind is Kind.QUOTED or (start.kind is Kind.WORD and not cursor.is_reserved())
    if is_name and cursor.peek(1).key == "." and cursor.peek(2).key == "*":
        name = cursor.advance().text
        cursor.expect(".", "*")
        return Star(name, span=cursor.since(start))
    return None


def _at_lambda(cursor: Cursor) -> bool:
    ahead = 0
    if cursor.at("("):
        ahead = 1
        while cursor.peek(ahead).kind is Kind.WORD and cursor.peek(ahead + 1).key == ",":
            ahead += 2
        if cursor.peek(ahead + 1).key != ")":
            return False
        return cursor.peek(ahead).kind is Kind.WORD and _is_arrow(cursor, ahead + 2)
    return cursor.peek().kind in (Kind.WORD, Kind.QUOTED) and _is_arrow(cursor, 1)


def _is_arrow(cursor: Cursor, ahead: int) -> bool:
    """``->``, or ksqlDB's ``=>``."""
    one, other = cursor.peek(ahead), cursor.peek(ahead + 1)
    return one.key == "->" or (one.key == "=" and other.key == ">" and one.end == other.start)


def _read_lambda(cursor: Cursor) -> Lambda:
    start = cursor.peek()
    if cursor.take("("):
        parameters = cursor.between_commas(lambda inner: inner.name("a parameter name"))
        cursor.expect(")")
    else:
        parameters = (cursor.name("a parameter name"),)
    if not cursor.take("=", ">"):
        cursor.expect("->")
    return Lambda(parameters, cursor.expr(), span=cursor.since(start))


def _read_suffixes(cursor: Cursor, call: Call, start: Token) -> Call:
    """FILTER, WITHIN GROUP and IGNORE NULLS, in any order."""
    while True:
        word = cursor.peek()
        if cursor.take("FILTER", "("):
            _once(cursor, word, call.where is None)
            cursor.expect("WHERE")
            call = replace(call, where=cursor.expr())
            cursor.expect(")")
        elif cursor.take("WITHIN", "GROUP"):
            _once(cursor, word, not call.within_group)
            cursor.expect("(", "ORDER", "BY")
            call = replace(call, within_group=cursor.between_commas(Cursor.sort_key))
            cursor.expect(")")
        elif cursor.take("IGNORE", "NULLS"):
            _once(cursor, word, not call.ignore_nulls)
            call = replace(call, ignore_nulls=True)
        elif not cursor.take("RESPECT", "NULLS"):
            return call
        call = replace(call, span=cursor.since(start))


def _once(cursor: Cursor, word: Token, is_first: bool) -> None:
    if not is_first:
        raise cursor.fault(codes.REPEATED, f"{word.key} is given twice for one call", word.span, "keep one of them")
