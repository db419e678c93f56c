"""WR255: LIMIT counts rows."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def limit(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.select.limit is not None and block.select.limit < 0:
            yield Diagnostic("WR255", "LIMIT cannot be negative", block.select.span, "write LIMIT 10")
