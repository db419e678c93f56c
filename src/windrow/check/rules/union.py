"""WR252: both sides of a UNION have the same columns."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import output_columns
from windrow.check.agreement import family
from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def union(context: Context) -> Iterator[Diagnostic]:
    for block in context.unions:
        left = output_columns(block.union.left, block.names, block.outer)
        right = output_columns(block.union.right, block.names, block.outer)
        if left is None or right is None:
            continue
        span = block.union.right.span or block.union.span
        if len(left) != len(right):
            hint = f"the first query has: {', '.join(column.name for column in left)}"
            yield Diagnostic("WR252", f"UNION of {len(left)} with {len(right)} columns", span, hint)
            continue
        for first, second in zip(left, right, strict=True):
            families = {family(first.type), family(second.type)}
            if len(families) > 1 and "any" not in families:
                message = f'UNION of {first.type} with {second.type} in the column "{first.name}"'
                yield Diagnostic("WR252", message, span, f"convert one side: CAST({second.name} AS {first.type})")
