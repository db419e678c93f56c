"""WR240: a window is something to aggregate over."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.check.rules.join_shape import joins_inside_windows
from windrow.errors import Diagnostic


def window_purpose(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        window = block.select.window
        if window is not None and not (block.scopes.is_aggregate or block.select.is_distinct or joins_inside_windows(block)):
            message = "WINDOW without an aggregate or GROUP BY has nothing to put out"
            hint = "add an aggregate, for example COUNT(*) AS n, or remove WINDOW"
            yield Diagnostic("WR240", message, window.span or block.select.span, hint)
