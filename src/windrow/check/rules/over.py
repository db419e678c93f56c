"""WR232, WR233, WR234, WR241: window functions need OVER, OVER needs one of them, both have their places, and frames of time a time."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.functions import FunctionKind
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Over
from windrow.model.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN
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
            elif (frame := node.spec.frame) is not None and frame.is_interval and not _orders_by_time(node, scope):
                message = "a frame of time needs ORDER BY with one time before it"
                yield Diagnostic("WR241", message, frame.span or span, "ORDER BY _event_time RANGE BETWEEN 5m PRECEDING AND CURRENT ROW")
            elif place.clause not in _ALLOWED:
                hint = "filter with QUALIFY" if place.clause in ("WHERE", "HAVING") else "move it to SELECT"
                yield Diagnostic("WR234", f"{node.call.name} OVER (...) cannot stand in {place.clause}", span, hint)
        elif isinstance(node, Call) and id(node) not in covered:
            known = scope.names.function(node.name)
            if known is not None and known.kind is FunctionKind.WINDOW:
                hint = f"write {render_expr(node)} OVER (ROWS WINDOW BUFFER 100 ROWS)"
                yield Diagnostic("WR232", f"{node.name} needs OVER (...)", node.name_span or node.span, hint)


def _orders_by_time(over: Over, scope: Scope) -> bool:
    keys = over.spec.order_by
    return len(keys) == 1 and infer(keys[0].expr, scope) in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN)
