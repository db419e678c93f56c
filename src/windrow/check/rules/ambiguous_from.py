"""WR211: two inputs of one query under one name."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def ambiguous_from(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        sources = [source for source in (block.select.source, *(join.source for join in block.select.joins)) if source is not None]
        seen: set[str] = set()
        for source, binding in zip(sources, block.scopes.rows.bindings, strict=False):
            name = binding.name.lower()
            if name and name in seen:
                message = f'the name "{binding.name}" stands twice in FROM'
                yield Diagnostic("WR211", message, source.span, f"give it an alias: {binding.name} AS {binding.name}_2")
            seen.add(name)
