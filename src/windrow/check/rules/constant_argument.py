"""WR225: arguments of aggregates that must be the same for every row (a separator, a share of rows), or must have a type."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregates.base import orders_its_value
from windrow.aggregates.registry import find_aggregate
from windrow.catalog.functions import function
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Exists, Expr, InQuery, Literal, ScalarQuery, walk
from windrow.model.types import NULL
from windrow.sql import render_expr

_EXAMPLES = {"string_agg": "','", "listagg": "','", "approx_count_distinct": "0.05", "hll_sketch_agg": "12", "approx_top_k": "10"}


def constant_argument(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        known = scope.names.function(node.name) if isinstance(node, Call) else None
        if not isinstance(node, Call) or known is None or known is not function(node.name) or not known.accepts(len(node.args)):
            continue
        form = find_aggregate(node)
        if form is not None and any(part.keeps_values for part in form.parts):
            yield from _untyped(node, scope)
        # Where ORDER BY names the value, that comes first, and the arguments after it.
        ahead = 1 if orders_its_value(node) else 0
        for position in [place - ahead for place in form.constant_args] if form is not None else ():
            if position < len(node.args):
                yield from _judge(node, position, node.args[position])


def _untyped(call: Call, scope: Scope) -> Iterator[Diagnostic]:
    """NULL by itself has no type that a list of values could have."""
    value = call.within_group[0].expr if orders_its_value(call) else call.args[0] if call.args else None
    if value is not None and infer(value, scope.inside_aggregate()) == NULL:
        message = f"{call.name} keeps values of one type, and {render_expr(value)} has none"
        yield Diagnostic("WR225", message, value.span or call.span, "write CAST(NULL AS DOUBLE), or the type that is meant")


def _judge(call: Call, position: int, arg: Expr) -> Iterator[Diagnostic]:
    example = _EXAMPLES.get(call.name.lower(), "0.95")
    if any(isinstance(node, Column | ScalarQuery | InQuery | Exists) for node in walk(arg)):
        message = f"argument {position + 1} of {call.name} must be the same for every row, and {render_expr(arg)} is not"
        yield Diagnostic("WR225", message, arg.span or call.span, f"write a constant, such as {example}")
    elif isinstance(arg, Literal) and arg.value is None:
        yield Diagnostic("WR225", f"argument {position + 1} of {call.name} cannot be NULL", arg.span or call.span, f"write {example}")
