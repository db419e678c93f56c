"""WR224: WHERE, HAVING, ON, EXPECT and their like need true or false."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer
from windrow.check.agreement import may_be_boolean
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Case, Expr
from windrow.sql import render_expr

_CONDITIONS = frozenset({"WHERE", "HAVING", "QUALIFY", "ON", "WATERMARK", "TRIGGER", "CONSTRAINT"})


def condition(context: Context) -> Iterator[Diagnostic]:
    for block in context.judged:
        for place in block.places:
            if place.clause in _CONDITIONS:
                yield from _judge(place.clause, place.expr, place.scope)
    for node, scope, _, _ in context.nodes():
        if isinstance(node, Call) and node.where is not None:
            yield from _judge("FILTER", node.where, scope.inside_aggregate())
        elif isinstance(node, Case) and node.operand is None:
            for when, _ in node.branches:
                yield from _judge("CASE WHEN", when, scope)


def _judge(clause: str, expr: Expr, scope: Scope) -> Iterator[Diagnostic]:
    type_ = infer(expr, scope)
    if not may_be_boolean(type_):
        message = f"{clause} needs true or false, but {render_expr(expr)} is {type_}"
        yield Diagnostic("WR224", message, expr.span, f"write a comparison: {render_expr(expr)} = ...")
