"""Expressions back to text, with the parentheses they need and no others."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import assert_never

from windrow.model.expr import (
    Asked,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expr,
    Field,
    Frame,
    Index,
    InList,
    InQuery,
    Interval,
    IsDistinct,
    IsNull,
    Lambda,
    Like,
    Literal,
    Over,
    OverSpec,
    Path,
    Question,
    ScalarQuery,
    Slot,
    SortKey,
    Star,
    Unary,
    transform,
)
from windrow.model.query import Query
from windrow.model.window import DAY, HOUR, MINUTE, SECOND
from windrow.sql.durations import show_duration
from windrow.sql.precedence import AND, BINARY, COMPARISON, NOT, POSTFIX, PREDICATE, UNARY
from windrow.sql.words import RESERVED, UNIT_CALLS, quote_name, quote_string

_ATOM = 120
_PATH_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\*)\]|\['(.*?)'\](?=[.\[]|$)", re.DOTALL)
_PLAIN_CALL = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def render_expr(expr: Expr) -> str:
    """An expression as SQL that reads back as the same expression.

    >>> render_expr(Binary("*", Binary("+", Column("a"), Literal(1)), Column("b", "t")))
    '(a + 1) * t.b'
    """
    return _Renderer(render_query).expr(expr)


def render_sort_key(key: SortKey) -> str:
    """One key of an ORDER BY."""
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[key.nulls_first]
    return render_expr(key.expr) + (" DESC" if key.descending else "") + nulls


def render_query(query: Query) -> str:
    """A query on one line."""
    # The layout of queries is made of rendered expressions: a module-level import would be a cycle.
    from windrow.sql.layout import query_lines

    return " ".join(query_lines(query))


class _Renderer:
    def __init__(self, query: Callable[[Query], str]) -> None:
        self._query = query

    def expr(self, expr: Expr, power: int = 0) -> str:
        """The text of an expression that stands where only operators of at least ``power`` may stand bare."""
        text, binds = self._text(expr)
        return text if binds >= power else f"({text})"

    def _text(self, expr: Expr) -> tuple[str, int]:
        """The text of an expression, and how strongly its outermost operator binds."""
        match expr:
            case Literal() | Interval() | Column() | Star() | Slot():
                return _leaf(expr), _ATOM
            case Unary() | Binary() | Between() | InList() | Like() | IsNull() | IsDistinct() | InQuery():
                return self._operator(expr)
            case Call():
                return self._call(expr), _ATOM
            case Over(call=call, spec=spec):
                return f"{self._call(call)} OVER ({self._over(spec)})", _ATOM
            case Cast(operand=operand, type=type_, is_try=is_try):
                return f"{'TRY_CAST' if is_try else 'CAST'}({self.expr(operand)} AS {type_})", _ATOM
            case Case():
                return self._case(expr), _ATOM
            case Index(base=base, key=key):
                return f"{self.expr(base, POSTFIX)}[{self.expr(key)}]", POSTFIX
            case Field(base=base, name=name):
                return f"{self._field_base(base)}.{quote_name(name)}", POSTFIX
            case Path(base=base, path=path):
                return f"{self.expr(base, POSTFIX)}:{_path(path)}", POSTFIX
            case Lambda(parameters=parameters, body=body):
                names = ", ".join(map(quote_name, parameters))
                return f"{names if len(parameters) == 1 else f'({names})'} -> {self.expr(body)}", 0
            case Exists(query=query, negated=negated):
                return f"{'NOT ' if negated else ''}EXISTS ({self._query(query)})", NOT if negated else _ATOM
            case ScalarQuery(query=query):
                return f"({self._query(query)})", _ATOM
            case Asked(question=question, args=args):
                return self._text(_as_asked(question, args))
            case _:
                assert_never(expr)

    def _field_base(self, base: Expr) -> str:
        # A bare column before a dot would be read as a qualifier, and a path would take the field as one more step.
        if (isinstance(base, Column) and base.qualifier is None) or isinstance(base, Path | Literal):
            return f"({self.expr(base)})"
        return self.expr(base, POSTFIX)

    def _operator(self, expr: Unary | Binary | Between | InList | Like | IsNull | IsDistinct | InQuery) -> tuple[str, int]:
        match expr:
            case Unary(op="NOT", operand=operand):
                text = self.expr(operand, NOT)
                # NOT EXISTS is read as one word: what follows would be said of both.
                is_torn = text.startswith("EXISTS (") and not isinstance(operand, Exists)
                return f"NOT ({text})" if is_torn else f"NOT {text}", NOT
            case Unary(op=op, operand=operand):
                # Never "--", which starts a comment.
                return f"{op}{self.expr(operand, UNARY + 1)}", UNARY
            case Binary(op=op, left=left, right=right):
                binds = BINARY[op]
                # Chains such as a = b = c are read differently by different engines: say what is meant.
                left_power = binds + 1 if binds == COMPARISON else binds
                return f"{self.expr(left, left_power)} {op} {self.expr(right, binds + 1)}", binds
            case Between(operand=operand, low=low, high=high, negated=negated):
                bounds = f"{self.expr(low, COMPARISON + 1)} AND {self.expr(high, COMPARISON + 1)}"
                return f"{self._subject(operand)}{_not(negated)} BETWEEN {bounds}", PREDICATE
            case InList(operand=operand, items=items, negated=negated):
                return f"{self._subject(operand)}{_not(negated)} IN ({', '.join(map(self.expr, items))})", PREDICATE
            case InQuery(operand=operand, query=query, negated=negated):
                return f"{self._subject(operand)}{_not(negated)} IN ({self._query(query)})", PREDICATE
            case Like(kind=kind, operand=operand, pattern=pattern, escape=escape, negated=negated):
                tail = "" if escape is None else f" ESCAPE {self.expr(escape, COMPARISON + 1)}"
                return f"{self._subject(operand)}{_not(negated)} {kind} {self.expr(pattern, COMPARISON + 1)}{tail}", PREDICATE
            case IsNull(operand=operand, negated=negated):
                return f"{self._subject(operand)} IS{_not(negated)} NULL", PREDICATE
            case IsDistinct(left=left, right=right, negated=negated):
                return f"{self._subject(left)} IS{_not(negated)} DISTINCT FROM {self.expr(right, COMPARISON + 1)}", PREDICATE
            case _:
                assert_never(expr)

    def _subject(self, operand: Expr) -> str:
        return self.expr(operand, COMPARISON + 1)

    def _call(self, call: Call) -> str:
        name = call.name if _PLAIN_CALL.fullmatch(call.name) and call.name.upper() not in RESERVED else quote_name(call.name)
        args = ", ".join([*_unit(call), *(self.expr(arg) for arg in call.args[len(_unit(call)) :])])
        text = f"{name}({'DISTINCT ' if call.distinct else ''}{args})"
        if call.ignore_nulls:
            text += " IGNORE NULLS"
        if call.within_group:
            text += f" WITHIN GROUP (ORDER BY {', '.join(map(render_sort_key, call.within_group))})"
        return text if call.where is None else f"{text} FILTER (WHERE {self.expr(call.where)})"

    def _case(self, case: Case) -> str:
        words = ["CASE"] if case.operand is None else ["CASE", self.expr(case.operand)]
        words += [f"WHEN {self.expr(condition)} THEN {self.expr(result)}" for condition, result in case.branches]
        if case.otherwise is not None:
            words.append(f"ELSE {self.expr(case.otherwise)}")
        return " ".join([*words, "END"])

    def _over(self, spec: OverSpec) -> str:
        words = [] if spec.buffer is None else [f"ROWS WINDOW BUFFER {spec.buffer} ROWS"]
        if spec.partition_by:
            words.append(f"PARTITION BY {', '.join(map(self.expr, spec.partition_by))}")
        if spec.order_by:
            words.append(f"ORDER BY {', '.join(map(render_sort_key, spec.order_by))}")
        if spec.frame is not None:
            words.append(_frame(spec.frame))
        return " ".join(words)


def render_predicate(expr: Expr) -> str:
    """A condition that stands before an OR which is not its own: a top-level OR gets parentheses."""
    return _Renderer(render_query).expr(expr, AND)


def _leaf(expr: Literal | Interval | Column | Star | Slot) -> str:
    match expr:
        case Literal(value=value):
            return _literal(value)
        case Interval(micros=micros):
            return _interval(micros)
        case Column(name=name, qualifier=qualifier):
            return quote_name(name) if qualifier is None else f"{quote_name(qualifier)}.{quote_name(name)}"
        case Star(qualifier=qualifier):
            return "*" if qualifier is None else f"{quote_name(qualifier)}.*"
        case Slot(name=name):
            return name
        case _:
            assert_never(expr)


def _as_asked(question: Question, args: tuple[Expr, ...]) -> Expr:
    """The subquery as it was written, what the row tells it put back."""
    told = {f"_p{i}": arg for i, arg in enumerate(args)}
    return transform(question.subquery, lambda node: told.get(node.name) if isinstance(node, Slot) else None)


def _literal(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text if "." in text else f"{text}.0"
    if isinstance(value, float):
        # Without an exponent it would read back as a decimal.
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return str(value)


def _interval(micros: int) -> str:
    for unit, length in (("DAY", DAY), ("HOUR", HOUR), ("MINUTE", MINUTE), ("SECOND", SECOND)):
        if micros and micros % length == 0:
            return f"INTERVAL '{micros // length}' {unit}"
    seconds = (Decimal(micros) / SECOND).normalize()
    return f"INTERVAL '{seconds:f}' SECOND"


def _path(path: str) -> str:
    """JSONPath as it is written after a colon."""
    text = ""
    for match in _PATH_STEP.finditer(path, 1):
        name, index, key = match.groups()
        if key is not None:
            text += f"[{quote_string(key)}]"
        elif index is not None:
            text += f"[{index}]"
        else:
            text += ("." if text else "") + quote_name(name)
    return text


def _unit(call: Call) -> list[str]:
    """The unit of time that a call starts with, which is written bare."""
    is_unit = len(call.args) == 3 and UNIT_CALLS.get(call.name.upper()) == 3
    match call.args[0] if is_unit else None:
        case Literal(value=str(unit)):
            return [unit]
        case _:
            return []


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _frame(frame: Frame) -> str:
    words = "RANGE" if frame.is_range else "ROWS"
    spell = show_duration if frame.is_interval else str
    return f"{words} BETWEEN {_bound(frame.start, 'PRECEDING', spell)} AND {_bound(frame.end, 'FOLLOWING', spell)}"


def _bound(bound: int | None, open_side: str, spell: Callable[[int], str]) -> str:
    if bound is None:
        return f"UNBOUNDED {open_side}"
    if bound == 0:
        return "CURRENT ROW"
    return f"{spell(-bound)} PRECEDING" if bound < 0 else f"{spell(bound)} FOLLOWING"
