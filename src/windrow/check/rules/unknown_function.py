"""WR220: a function that neither Spark nor the dialect has."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind, closest_functions
from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.check.foreign_names import function_hint
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Interval, Literal
from windrow.model.window_kinds import SPELLINGS
from windrow.sql import render_expr
from windrow.sql.durations import show_duration

# Functions of Flink and Spark that group by a window, and what such a window is called here.
_WINDOWS = {**{name.lower(): kind.word for name, kind in SPELLINGS.items()}, "window": "TUMBLING", "session_window": "SESSION"}


def unknown_function(context: Context) -> Iterator[Diagnostic]:
    for node, scope, place, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if node.name.lower() in _WINDOWS:
            message = f"{node.name} in {place.clause}: a window is a clause of its own"
            yield Diagnostic("WR220", message, node.name_span or node.span, f"write {_clause(node)}")
            continue
        span = node.name_span or node.span
        if known is None:
            hint = function_hint(node.name, [render_expr(arg) for arg in node.args]) or _hint(context, node.name)
            yield Diagnostic("WR220", f"unknown function {node.name} in {place.clause}", span, hint)
        elif known.kind is FunctionKind.TABLE:
            yield Diagnostic("WR220", f"{node.name} gives a table, not a value", span, "remove the call: streams have no use for it")


def _clause(call: Call) -> str:
    """The WINDOW clause that says what Flink's or Spark's function says.

    >>> _clause(Call("HOP", (Column("ts"), Interval(10_000_000), Interval(60_000_000))))
    'WINDOW SLIDING(ts, 1m, 10s)'
    """
    lengths = [show_duration(arg.micros) for arg in call.args if isinstance(arg, Interval)]
    lengths += [f"INTERVAL {arg.value}" for arg in call.args if isinstance(arg, Literal) and isinstance(arg.value, str)]
    kind = _WINDOWS[call.name.lower()]
    if call.name.lower() == "hop":
        # It names its slide first, the clause its size.
        lengths.reverse()
    elif len(lengths) > 1 and kind == "TUMBLING":
        kind = "SLIDING"
    time = [render_expr(call.args[0])] if call.args and isinstance(call.args[0], Column) else []
    return f"WINDOW {kind}({', '.join([*time, *(lengths or ['1m'])])})"


def _hint(context: Context, name: str) -> str:
    own = closest(name, [function.name for function in context.catalog.own_functions.values()])
    similar = own + closest_functions(name)
    if similar:
        return f"did you mean {', '.join(similar)}?"
    return "SHOW FUNCTIONS lists every function"
