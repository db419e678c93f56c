"""WR221: how many arguments a function takes."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Star


def argument_count(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, Call):
            continue
        known = scope.names.function(node.name)
        # A star stands for any number of arguments.
        if known is None or known.accepts(len(node.args)) or any(isinstance(arg, Star) for arg in node.args):
            continue
        # PERCENTILE_CONT(x, 0.5) lacks its WITHIN GROUP, and another rule says so.
        if known.needs_within_group and not node.within_group:
            continue
        message = f"{node.name} takes {known.expected()}, not {len(node.args)}"
        yield Diagnostic("WR221", message, node.span or node.name_span, f"write {known.signature}: {known.doc}")
