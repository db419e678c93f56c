"""WR240: what a WINDOW without an aggregate can put out: rows with the bounds of their windows."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Block, Context
from windrow.check.rules.join_shape import joins_inside_windows
from windrow.errors import Diagnostic
from windrow.model.query import EmitChanges
from windrow.model.window import OnSessionEnd, OnWatermark


def gives_window_rows(block: Block) -> bool:
    """Whether a WINDOW groups nothing and bounds no join: then each row comes out with the bounds of its window."""
    if block.select.window is None or block.scopes.is_aggregate or block.select.is_distinct:
        return False
    return not joins_inside_windows(block)


def window_purpose(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        window = block.select.window
        if window is None or not gives_window_rows(block):
            continue
        span = window.span or block.select.span
        streams = [binding for binding in block.scopes.rows.bindings[: len(block.select.joins) + 1] if binding.kind != "table"]
        if len(streams) > 1:
            hint = "take it in two steps: SELECT ... FROM (SELECT ... FROM a JOIN b ...) AS pairs WINDOW ..."
            yield Diagnostic("WR240", "WINDOW without an aggregate over a join that has a bound of its own", span, hint)
        elif any(not isinstance(trigger, OnWatermark | OnSessionEnd) for trigger in window.triggers):
            message = "WINDOW without an aggregate puts out rows: there is nothing to show early of them"
            yield Diagnostic("WR240", message, span, "leave out TRIGGER; EMIT CHANGES puts each row out as it comes")
        elif isinstance(block.select.emit, EmitChanges) and block.select.emit.is_per_batch:
            message = "EMIT CHANGES PER BATCH keeps the last row of each group, and there are no groups"
            yield Diagnostic("WR240", message, block.select.emit.span or span, "write EMIT CHANGES, or GROUP BY a key")
