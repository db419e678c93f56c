"""WR281, WR285, WR286: what OVER sees of a stream: rows in the order of ORDER BY, those that came so far, and none that come later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.emission_groups import looks_across
from windrow.catalog.functions import FunctionKind
from windrow.check.blocks import Block, Context
from windrow.check.rules.window_purpose import gives_window_rows
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Column, Over, SortKey
from windrow.sql import render_expr

_ORDERED_AGGREGATES = frozenset({"first_value", "last_value", "nth_value", "first", "last"})


def order_of_arrival(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, block in context.nodes():
        if not isinstance(node, Over) or block.is_over_tables:
            continue
        name, span = node.call.name, node.call.name_span or node.span
        # What comes out of one window is compared whole.
        is_whole = (block.scopes.is_aggregate or gives_window_rows(block)) and not looks_across(node)
        if name.lower() == "lead" and not is_whole:
            back = replace(node, call=replace(node.call, name="LAG"))
            message = f"{name} looks at rows that have not come yet, so it gives its default for every row"
            yield Diagnostic("WR286", message, span, f"look back from the later row: {render_expr(back)}", Severity.WARNING)
        # A buffer of so many rows, or a frame, is asked for by those who want the last ones that came.
        if node.spec.order_by or node.spec.buffer is not None or node.spec.frame is not None:
            continue
        known = scope.names.function(name)
        is_ordered = name.lower() in _ORDERED_AGGREGATES or (known is not None and known.kind is FunctionKind.WINDOW)
        hint = f"write {_ordered(node, block)}"
        if is_ordered:
            message = f"{name} OVER without ORDER BY takes rows in the order in which they arrive"
            yield Diagnostic("WR281", message, span, hint, Severity.WARNING)
        elif not is_whole:
            message = f"{name} OVER without ORDER BY is of the rows that came so far: a partition of a stream has no end"
            hint += "; or, for one value of them all, write GROUP BY with a WINDOW"
            yield Diagnostic("WR285", message, span, hint, Severity.WARNING)


def _ordered(node: Over, block: Block) -> str:
    """The call with an order: rows are ordered by their time, the groups of windows by the end of theirs."""
    key = SortKey(Column("_window_end" if block.select.window is not None else "_event_time"))
    return render_expr(replace(node, spec=replace(node.spec, order_by=(key,))))
