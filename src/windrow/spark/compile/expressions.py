"""Expressions of the model as Spark SQL text: the one place where that happens."""

from __future__ import annotations

from collections.abc import Mapping
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
    Path,
    ScalarQuery,
    Slot,
    SortKey,
    Star,
    Unary,
)
from windrow.model.system import system_column
from windrow.spark.compile.functions import translate_call
from windrow.spark.internals.batch_constants import BATCH_CONSTANT


def quote(name: str) -> str:
    """An identifier that Spark takes as it is, whatever it holds.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def struct_type(fields: Mapping[str, str]) -> str:
    """The type of a struct in SQL.

    >>> struct_type({"a": "INT"})
    'STRUCT<`a`: INT>'
    """
    return f"STRUCT<{', '.join(f'{quote(name)}: {type_}' for name, type_ in fields.items())}>"


def text_literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def of_batch(value: int | str, beside: str) -> str:
    """A constant of one batch, such as its watermark, kept out of the code that Spark generates. ``beside`` is a whole number of the row.

    Spark writes a number into that code as it stands, so each batch would be compiled and warmed up anew. An array is handed over
    from outside instead, and as its index is not known before the row is there, it is not folded into the number it holds.

    >>> of_batch(17, "`n`").replace(BATCH_CONSTANT, "")
    'get(array(17L), CAST(`n` & 0 AS INT))'
    """
    return f"get(array({BATCH_CONSTANT}{value}L), CAST({beside} & 0 AS INT))"


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
        case Column(name=name, qualifier=qualifier):
            known = system_column(name)
            # Only inside a subquery do columns still have a qualifier.
            return ("" if qualifier is None else f"{quote(qualifier)}.") + quote(known.name if known else name)
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
            # Spark takes parentheses around several parameters only.
            names = ", ".join(map(quote, parameters))
            return f"{names if len(parameters) == 1 else f'({names})'} -> {to_sql(body)}"
        case Over():
            return _over(expr)
        case InQuery() | Exists() | ScalarQuery():
            return _subquery(expr)
        case Asked():
            raise AssertionError("a question about a row is answered in a column of its own")
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


def _subquery(expr: InQuery | Exists | ScalarQuery) -> str:
    # A query is made of expressions: a module-level import would be a cycle.
    from windrow.spark.compile.query_text import query_sql

    inner = query_sql(expr.query)
    match expr:
        case Exists(negated=negated):
            return f"({'NOT ' if negated else ''}EXISTS ({inner}))"
        case ScalarQuery():
            return f"({inner})"
        case InQuery(operand=operand, negated=negated):
            # As the value of a row, Spark's IN is false where it should be NULL, and so is its NOT IN: the two tell the three apart.
            value = to_sql(operand)
            found, missing = ("false", "true") if negated else ("true", "false")
            return f"(CASE WHEN {value} IN ({inner}) THEN {found} WHEN {value} NOT IN ({inner}) THEN {missing} END)"


def _call(call: Call) -> str:
    args = ["*" if isinstance(arg, Star) else to_sql(arg) for arg in call.args]
    if call.distinct:
        args[0] = f"DISTINCT {args[0]}"
    text = translate_call(call.name, args)
    if call.within_group:
        text += f" WITHIN GROUP (ORDER BY {', '.join(map(sort_sql, call.within_group))})"
    return text if call.where is None else f"{text} FILTER (WHERE {to_sql(call.where)})"


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
        size = f"INTERVAL '{abs(value) // 1_000_000}.{abs(value) % 1_000_000:06d}' SECOND" if frame.is_interval else str(abs(value))
        return f"{size} {'PRECEDING' if value < 0 else 'FOLLOWING'}"

    kind = "RANGE" if frame.is_range else "ROWS"
    return f"{kind} BETWEEN {bound(frame.start, 'PRECEDING')} AND {bound(frame.end, 'FOLLOWING')}"
