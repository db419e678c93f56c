"""WR232, WR233, WR234: window functions need OVER, OVER needs one of them, and both have their places."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Over
from windrow.sql import render_expr

_ALLOWED = frozenset({"SELECT", "QUALIFY", "ORDER BY"})


def over(context: Context) -> Iterator[Diagnostic]:
    covered: set[int] = set()
    for node, scope, place, _ in context.nodes():
        if isinstance(node, Over):
            covered.add(id(node.call))
            known = scope.names.function(node.call.name)
            span = node.call.name_span or node.call.span or node.span
            if known is not None and known.kind not in (FunctionKind.AGGREGATE, FunctionKind.WINDOW):
                message = f"{node.call.name} is neither an aggregate nor a window function, so OVER cannot follow it"
                yield Diagnostic("WR233", message, span, f"remove OVER (...) after {node.call.name}(...)")
            elif place.clause not in _ALLOWED:
                hint = "filter with QUALIFY" if place.clause in ("WHERE", "HAVING") else "move it to SELECT"
                yield Diagnostic("WR234", f"{node.call.name} OVER (...) cannot stand in {place.clause}", span, hint)
        elif isinstance(node, Call) and id(node) not in covered:
            known = scope.names.function(node.name)
            if known is not None and known.kind is FunctionKind.WINDOW:
                hint = f"write {render_expr(node)} OVER (ROWS WINDOW BUFFER 100 ROWS)"
                yield Diagnostic("WR232", f"{node.name} needs OVER (...)", node.name_span or node.span, hint)
