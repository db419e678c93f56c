"""Expressions of the model as Spark SQL text: the one place where that happens."""

from __future__ import annotations

from decimal import Decimal
from typing import assert_never

from windrow.model.expr import (
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
    Path,
    ScalarQuery,
    Slot,
    SortKey,
    Star,
    Unary,
)
from windrow.model.system import system_column
from windrow.spark.functions import translate_call


def quote(name: str) -> str:
    """An identifier that Spark takes as it is, whatever it holds.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def text_literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def of_batch(value: str, beside: str) -> str:
    """A constant of one batch, such as its watermark, kept out of the code that Spark generates. ``beside`` is a whole number of the row.

    Spark writes a number into that code as it stands, so each batch would be compiled and warmed up anew. An array is handed over
    from outside instead, and as its index is not known before the row is there, it is not folded into the number it holds.

    >>> of_batch("17L", "`n`")
    'get(array(17L), CAST(`n` & 0 AS INT))'
    """
    return f"get(array({value}), CAST({beside} & 0 AS INT))"


def to_sql(expr: Expr) -> str:
    """Fully parenthesised, so that no precedence is left to chance.

    >>> to_sql(Binary("*", Binary("+", Column("a"), Literal(1)), Literal("x'y")))
    "((`a` + 1) * 'x\\\\'y')"
    """
    match expr:
        case Literal(value=value):
            return _literal(value)
        case Interval(micros=micros):
            sign = "-" if micros < 0 else ""
            return f"INTERVAL '{sign}{abs(micros) // 1_000_000}.{abs(micros) % 1_000_000:06d}' SECOND"
        case Column(name=name):
            known = system_column(name)
            return quote(known.name if known else name)
        case Slot(name=name):
            return quote(name)
        case Star():
            return "*"
        case Call():
            return _call(expr)
        case Unary(op=op, operand=operand):
            return f"({op} {to_sql(operand)})"
        case Binary(op=op, left=left, right=right):
            return f"({to_sql(left)} {op} {to_sql(right)})"
        case Cast(operand=operand, type=type_, is_try=is_try):
            return f"{'TRY_CAST' if is_try else 'CAST'}({to_sql(operand)} AS {type_})"
        case Case():
            return _case(expr)
        case Between() | InList() | Like() | IsNull() | IsDistinct():
            return _predicate(expr)
        case Index(base=base, key=key):
            return f"{to_sql(base)}[{to_sql(key)}]"
        case Field(base=base, name=name):
            return f"{to_sql(base)}.{quote(name)}"
        case Path(base=base, path=path):
            return f"get_json_object({to_sql(base)}, {text_literal(path)})"
        case Lambda(parameters=parameters, body=body):
            return f"({', '.join(map(quote, parameters))}) -> {to_sql(body)}"
        case Over():
            return _over(expr)
        case InQuery() | Exists() | ScalarQuery():
            raise AssertionError("subqueries are planned as joins before they are compiled")
        case _:
            assert_never(expr)


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value) if -(2**63) <= value < 2**63 else f"{value}BD"
        case Decimal():
            text = format(value, "f")
            return text if "." in text else f"{text}BD"
        case float():
            return f"{value!r}D" if value == value and abs(value) != float("inf") else f"DOUBLE('{value}')"
        case str():
            return text_literal(value)
        case _:
            raise AssertionError(f"no literal of {type(value).__name__}")


def _call(call: Call) -> str:
    if any(isinstance(arg, Star) for arg in call.args):
        return f"{call.name}(*)"
    args = [to_sql(arg) for arg in call.args]
    return translate_call(call.name, args)


def _case(case: Case) -> str:
    head = "CASE" if case.operand is None else f"CASE {to_sql(case.operand)}"
    branches = " ".join(f"WHEN {to_sql(when)} THEN {to_sql(then)}" for when, then in case.branches)
    tail = "" if case.otherwise is None else f" ELSE {to_sql(case.otherwise)}"
    return f"{head} {branches}{tail} END"


def _predicate(expr: Between | InList | Like | IsNull | IsDistinct) -> str:
    negation = "NOT " if expr.negated else ""
    match expr:
        case Between(operand=operand, low=low, high=high):
            return f"({to_sql(operand)} {negation}BETWEEN {to_sql(low)} AND {to_sql(high)})"
        case InList(operand=operand, items=items):
            return f"({to_sql(operand)} {negation}IN ({', '.join(map(to_sql, items))}))"
        case Like(kind=kind, operand=operand, pattern=pattern, escape=escape):
            tail = "" if escape is None else f" ESCAPE {to_sql(escape)}"
            return f"({to_sql(operand)} {negation}{kind} {to_sql(pattern)}{tail})"
        case IsNull(operand=operand):
            return f"({to_sql(operand)} IS {negation}NULL)"
        case IsDistinct(left=left, right=right):
            return f"({to_sql(left)} IS {negation}DISTINCT FROM {to_sql(right)})"


def sort_sql(key: SortKey) -> str:
    direction = " DESC" if key.descending else ""
    nulls = "" if key.nulls_first is None else " NULLS FIRST" if key.nulls_first else " NULLS LAST"
    return f"{to_sql(key.expr)}{direction}{nulls}"


def _over(over: Over) -> str:
    spec = over.spec
    parts = []
    if spec.partition_by:
        parts.append("PARTITION BY " + ", ".join(map(to_sql, spec.partition_by)))
    if spec.order_by:
        parts.append("ORDER BY " + ", ".join(map(sort_sql, spec.order_by)))
    if spec.frame is not None:
        parts.append(frame_sql(spec.frame))
    return f"{to_sql(over.call)} OVER ({' '.join(parts)})"


def frame_sql(frame: Frame) -> str:
    def bound(value: int | None, unbounded: str) -> str:
        if value is None:
            return f"UNBOUNDED {unbounded}"
        if value == 0:
            return "CURRENT ROW"
        return f"{abs(value)} {'PRECEDING' if value < 0 else 'FOLLOWING'}"

    kind = "RANGE" if frame.is_range else "ROWS"
    return f"{kind} BETWEEN {bound(frame.start, 'PRECEDING')} AND {bound(frame.end, 'FOLLOWING')}"
