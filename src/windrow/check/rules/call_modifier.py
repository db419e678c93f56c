"""WR226: DISTINCT, FILTER, IGNORE NULLS and WITHIN GROUP belong to aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Literal
from windrow.sql import render_expr


def call_modifier(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if known is None:
            continue
        span = node.name_span or node.span
        if known.needs_within_group and not node.within_group:
            hint = f"write {_within_group(node)}"
            yield Diagnostic("WR226", f"{node.name} needs WITHIN GROUP (ORDER BY ...)", span, hint)
        if known.kind is not FunctionKind.AGGREGATE:
            for word in _modifiers(node):
                yield Diagnostic("WR226", f"{word} cannot stand with {node.name}, which is not an aggregate", span, f"remove {word}")


def _within_group(call: Call) -> str:
    """The call as the standard writes it, whichever way round its two arguments stood."""
    shares = [arg for arg in call.args if isinstance(arg, Literal)]
    values = [arg for arg in call.args if arg not in shares]
    share = render_expr(shares[0]) if shares else "p" if call.args else "0.5"
    return f"{call.name}({share}) WITHIN GROUP (ORDER BY {render_expr(values[0]) if shares and values else 'value'})"


def _modifiers(call: Call) -> list[str]:
    words = {"DISTINCT": call.distinct, "FILTER": call.where is not None, "WITHIN GROUP": bool(call.within_group)}
    return [word for word, is_there in words.items() if is_there]
