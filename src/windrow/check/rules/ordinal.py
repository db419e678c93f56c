"""WR235: GROUP BY 3 and ORDER BY 3 mean the third select item."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Literal, Star


def ordinal(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        items = block.select.items
        if any(isinstance(item.expr, Star) for item in items):
            continue
        for place in block.places:
            expr = place.expr
            if place.clause not in ("GROUP BY", "ORDER BY") or not isinstance(expr, Literal):
                continue
            if isinstance(expr.value, int) and not isinstance(expr.value, bool) and not 1 <= expr.value <= len(items):
                message = f"{place.clause} {expr.value} names no select item"
                yield Diagnostic("WR235", message, expr.span, f"write a position from 1 to {len(items)}, or a column")
