"""WR251: a join says which rows belong together."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.query import JoinKind


def join_condition(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for join, binding in zip(block.select.joins, block.scopes.rows.bindings[1:], strict=False):
            if join.kind is not JoinKind.CROSS and join.on is None and not join.using:
                left = block.scopes.rows.bindings[0].name
                yield Diagnostic("WR251", f"JOIN {binding.name} without ON", join.span, f"add ON {left}.key = {binding.name}.key")
