"""WR220: a function that neither Spark nor the dialect has."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind, closest_functions
from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.check.foreign_names import WINDOW_FUNCTIONS, function_hint
from windrow.check.suggestions import is_double_quoted
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Expr, Interval, Literal
from windrow.sql import render_expr
from windrow.sql.durations import UNITS, show_duration
from windrow.sql.lengths import parse_length


def unknown_function(context: Context) -> Iterator[Diagnostic]:
    for node, scope, place, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if node.name.lower() in WINDOW_FUNCTIONS:
            message = f"{node.name} in {place.clause}: a window is a clause of its own"
            yield Diagnostic("WR220", message, node.name_span or node.span, f"write {_clause(node, context.script.source.text)}")
            continue
        span = node.name_span or node.span
        if known is None:
            hint = function_hint(node.name, [render_expr(arg) for arg in node.args]) or _hint(context, node.name)
            yield Diagnostic("WR220", f"unknown function {node.name} in {place.clause}", span, hint)
        elif known.kind is FunctionKind.TABLE:
            yield Diagnostic("WR220", f"{node.name} gives a table, not a value", span, "remove the call: streams have no use for it")


def _clause(call: Call, text: str = "") -> str:
    """The WINDOW clause that says what Flink's or Spark's function says.

    >>> _clause(Call("HOP", (Column("ts"), Interval(10_000_000), Interval(60_000_000))))
    'WINDOW SLIDING(ts, 1m, 10s)'
    """
    lengths = [show_duration(micros) for micros in _lengths(call, text)]
    kind = WINDOW_FUNCTIONS[call.name.lower()]
    if call.name.lower() == "hop":
        # It names its slide first, the clause its size.
        lengths.reverse()
    elif len(lengths) > 1 and kind == "TUMBLING":
        kind = "SLIDING"
    first = call.args[0] if call.args else None
    is_time = isinstance(first, Column) and _micros(first, text) is None and first.name.lower() not in UNITS
    time = [render_expr(first)] if is_time and first is not None else []
    return f"WINDOW {kind}({', '.join([*time, *(lengths or ['size'])])})"


def _lengths(call: Call, text: str) -> list[int]:
    """The lengths among the arguments; of HoppingWindow(minute, 10, 5) too."""
    if call.args and isinstance(call.args[0], Column) and call.args[0].name.lower() in UNITS:
        unit = UNITS[call.args[0].name.lower()]
        return [arg.value * unit for arg in call.args[1:] if isinstance(arg, Literal) and isinstance(arg.value, int)]
    return [micros for arg in call.args if (micros := _micros(arg, text)) is not None]


def _micros(arg: Expr, text: str) -> int | None:
    """The length of time that an argument says, a text in double quotes too."""
    match arg:
        case Interval(micros=micros):
            return micros
        case Literal(value=str(written)):
            return parse_length(written)
        case Column(name=written, qualifier=None) if is_double_quoted(arg, text):
            return parse_length(written)
        case _:
            return None


def _hint(context: Context, name: str) -> str:
    own = closest(name, [function.name for function in context.catalog.own_functions.values()])
    similar = own + closest_functions(name)
    if similar:
        return f"did you mean {', '.join(similar)}?"
    return "SHOW FUNCTIONS lists every function"
