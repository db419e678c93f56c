"""WR220: a function that neither Spark nor the dialect has."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind, closest_functions
from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call


def unknown_function(context: Context) -> Iterator[Diagnostic]:
    for node, scope, place, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        span = node.name_span or node.span
        if known is None:
            yield Diagnostic("WR220", f"unknown function {node.name} in {place.clause}", span, _hint(context, node.name))
        elif known.kind is FunctionKind.TABLE:
            yield Diagnostic("WR220", f"{node.name} gives a table, not a value", span, "remove the call: streams have no use for it")


def _hint(context: Context, name: str) -> str:
    own = closest(name, [function.name for function in context.catalog.own_functions.values()])
    similar = own + closest_functions(name)
    if similar:
        return f"did you mean {', '.join(similar)}?"
    return "SHOW FUNCTIONS lists every function"
