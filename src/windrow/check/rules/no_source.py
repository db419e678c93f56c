"""WR219: a statement puts out rows for the rows it reads."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def no_source(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.outer is None and block.select.source is None:
            hint = "add FROM and the name of a stream: SELECT ... FROM trades"
            yield Diagnostic("WR219", "SELECT without FROM has no rows to put out", block.select.span, hint)
