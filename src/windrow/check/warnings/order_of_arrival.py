"""WR281: LAG and its kin look at rows by their order; without ORDER BY that is the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.functions import FunctionKind
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Column, Over, SortKey
from windrow.sql import render_expr

_ORDERED_AGGREGATES = frozenset({"first_value", "last_value", "nth_value", "first", "last"})


def order_of_arrival(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, block in context.nodes():
        if not isinstance(node, Over) or node.spec.order_by or block.is_over_tables:
            continue
        # A buffer of so many rows is asked for by those who want the last ones that came.
        if node.spec.buffer is not None:
            continue
        known = scope.names.function(node.call.name)
        is_ordered = node.call.name.lower() in _ORDERED_AGGREGATES or (known is not None and known.kind is FunctionKind.WINDOW)
        if is_ordered:
            message = f"{node.call.name} OVER without ORDER BY takes rows in the order in which they arrive"
            key = SortKey(Column(_order(block)))
            hint = f"write {render_expr(replace(node, spec=replace(node.spec, order_by=(key,))))}"
            yield Diagnostic("WR281", message, node.call.name_span or node.span, hint, Severity.WARNING)


def _order(block: Block) -> str:
    """Rows are ordered by their time, the groups of windows by the end of theirs."""
    return "_window_end" if block.select.window is not None else "_event_time"
