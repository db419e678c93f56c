"""WR221: how many arguments a function takes."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import Function
from windrow.check.blocks import Context
from windrow.check.foreign_names import function_hint
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Star
from windrow.sql import render_expr


def argument_count(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        if known is None or not has_wrong_count(node, known):
            continue
        message = f"{node.name} takes {known.expected()}, not {len(node.args)}"
        hint = function_hint(node.name, [render_expr(arg) for arg in node.args]) or f"write {known.signature}: {known.doc}"
        yield Diagnostic("WR221", message, node.span or node.name_span, hint)


def has_wrong_count(call: Call, known: Function) -> bool:
    # A star stands for any number of arguments.
    if known.accepts(len(call.args)) or any(isinstance(arg, Star) for arg in call.args):
        return False
    # PERCENTILE_CONT(x, 0.5) lacks its WITHIN GROUP, and another rule says so.
    return not known.needs_within_group or bool(call.within_group)
