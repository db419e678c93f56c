"""WR222: arguments of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import Function, functions
from windrow.catalog.scope import Scope, is_aggregate
from windrow.catalog.typing import infer
from windrow.check.agreement import family, is_number_text, may_be_boolean
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Expr, Interval, Lambda, Star
from windrow.model.types import BOOLEAN, INTERVAL, STRING, DataType
from windrow.sql import render_expr

# Aggregates of conditions, and those that join texts with another between them.
_CONDITIONS = frozenset({"count_if", "bool_and", "every", "bool_or", "some", "any"})
_JOINING = frozenset({"string_agg", "listagg"})
# Functions that compare their arguments, which Spark does within one family of types only.
_COMPARING = frozenset({"greatest", "least"})
# Spark makes YEAR(x) of DATE_PART('YEAR', x), and the like of every other field: their arguments are refused alike.
_PARTS = frozenset({"date_part", "datepart", "extract"})


def argument_type(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if known is None or not known.accepts(len(node.args)):
            continue
        inner = scope.inside_aggregate() if is_aggregate(node, scope.names) else scope
        # What a function with a lambda takes was probed without one.
        if any(isinstance(arg, Lambda) for arg in node.args):
            continue
        for position, arg in enumerate(node.args):
            if not isinstance(arg, Star | Interval):
                yield from _judge(node, known, position, arg, infer(arg, inner))
        if node.name.lower() in _COMPARING:
            yield from _compared(node, [infer(arg, inner) for arg in node.args])
        if known.needs_within_group:
            yield from _sort_keys(node, inner)


def _judge(call: Call, known: Function, position: int, arg: Expr, type_: DataType) -> Iterator[Diagnostic]:
    if call.name.lower() in _CONDITIONS and position == 0 and not may_be_boolean(type_):
        hint = f"write a comparison: {call.name}({render_expr(arg)} = ...)"
        yield Diagnostic("WR222", f"{call.name} needs true or false, but {render_expr(arg)} is {type_}", arg.span or call.span, hint)
    elif call.name.lower() in _JOINING and position == 1 and family(type_) not in ("text", "any"):
        hint = f"write it in quotes: {call.name}({render_expr(call.args[0])}, ',')"
        yield Diagnostic(
            "WR222", f"{call.name} needs a text between the values, and {render_expr(arg)} is {type_}", arg.span or call.span, hint
        )
    elif known.takes_number(position) and family(type_) not in ("number", "any") and type_ != INTERVAL and not is_number_text(arg):
        hint = _number_hint(call, known, arg, type_)
        yield Diagnostic("WR222", f"{call.name} needs a number, but {render_expr(arg)} is {type_}", arg.span or call.span, hint)
    elif call.name.lower() in _PARTS and position == 1 and functions()["year"].refuses_type(0, type_):
        message = f"{call.name} takes a part of a date or a time, and {render_expr(arg)} is {type_}"
        hint = (
            f"make a time of it: TIMESTAMP_MILLIS({render_expr(arg)})" if family(type_) == "number" else f"{known.signature}: {known.doc}"
        )
        yield Diagnostic("WR222", message, arg.span or call.span, hint)
    elif known.refuses_type(position, type_):
        message = f"{call.name} does not take {type_} as argument {position + 1}"
        yield Diagnostic("WR222", message, arg.span or call.span, f"{known.signature}: {known.doc}")


def _number_hint(call: Call, known: Function, arg: Expr, type_: DataType) -> str:
    if type_ == STRING:
        return f"convert it: CAST({render_expr(arg)} AS DOUBLE)"
    if type_ == BOOLEAN and call.name.lower() == "sum":
        return f"count the true ones: COUNT_IF({render_expr(arg)})"
    return f"{known.signature}: {known.doc}"


def _compared(call: Call, types: list[DataType]) -> Iterator[Diagnostic]:
    families = [family(type_) for type_ in types]
    if {"text", "number"} <= set(families):
        arg, type_ = call.args[families.index("text")], types[families.index("text")]
        message = f"{call.name} compares values of one type, and {render_expr(arg)} is {type_}"
        yield Diagnostic("WR222", message, arg.span or call.span, f"convert it: CAST({render_expr(arg)} AS DOUBLE)")


def _sort_keys(call: Call, scope: Scope) -> Iterator[Diagnostic]:
    for key in call.within_group:
        type_ = infer(key.expr, scope)
        if call.name.lower() == "percentile_cont" and family(type_) not in ("number", "any") and type_ != INTERVAL:
            message = f"{call.name} needs numbers to interpolate, but {render_expr(key.expr)} is {type_}"
            yield Diagnostic("WR222", message, key.span or call.span, f"convert it: ORDER BY CAST({render_expr(key.expr)} AS DOUBLE)")
