"""WR226: DISTINCT, FILTER, IGNORE NULLS and WITHIN GROUP belong to aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call


def call_modifier(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if known is None:
            continue
        span = node.name_span or node.span
        if known.needs_within_group and not node.within_group:
            share = "0.5" if not node.args else "p"
            hint = f"write {node.name}({share}) WITHIN GROUP (ORDER BY value)"
            yield Diagnostic("WR226", f"{node.name} needs WITHIN GROUP (ORDER BY ...)", span, hint)
        if known.kind is not FunctionKind.AGGREGATE:
            for word in _modifiers(node):
                yield Diagnostic("WR226", f"{word} cannot stand with {node.name}, which is not an aggregate", span, f"remove {word}")


def _modifiers(call: Call) -> list[str]:
    words = {"DISTINCT": call.distinct, "FILTER": call.where is not None, "WITHIN GROUP": bool(call.within_group)}
    return [word for word, is_there in words.items() if is_there]
