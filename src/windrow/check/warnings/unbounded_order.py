"""WR280: ORDER BY sorts the rows of one emission, and a stream without a window has no other end."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.scope import Resolved
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Column
from windrow.model.query import EmitFinal


def unbounded_order(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        select = block.select
        if not select.order_by or block.is_over_tables or select.source is None or _comes_together(block):
            continue
        first = select.order_by[0]
        message = "ORDER BY sorts what comes out together, at most one batch: a stream has no end to sort up to"
        hint = "remove it, or sort what a window puts out: GROUP BY ... WINDOW TUMBLING(1m) ORDER BY ..."
        yield Diagnostic("WR280", message, first.span or first.expr.span or select.span, hint, Severity.WARNING)


def _comes_together(block: Block) -> bool:
    """Whether rows come out as those of a window, its own or that of what it reads, or all at the end of a bounded input."""
    if block.select.window is not None or isinstance(block.select.emit, EmitFinal):
        return True
    return isinstance(block.scopes.rows.resolve(Column("_window_start")), Resolved)
