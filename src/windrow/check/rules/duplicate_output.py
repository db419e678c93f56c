"""WR215: output columns must have different names, because rows are told apart by them."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import item_name
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Star
from windrow.model.statement import InsertInto


def duplicate_output(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        # A subquery of IN, EXISTS or a comparison has no readers by name, and INSERT INTO goes by position.
        if block.outer is not None or (block.is_outermost and isinstance(block.statement, InsertInto)):
            continue
        seen: set[str] = set()
        for item in block.select.items:
            if isinstance(item.expr, Star):
                yield from _starred(item.expr, block, seen)
                continue
            name = item_name(item)
            if name.lower() in seen:
                span = item.span or item.expr.span
                yield Diagnostic("WR215", f'two output columns are called "{name}"', span, f"give one an alias: AS {_free(name, seen)}")
            seen.add(name.lower())


def _starred(star: Star, block: Block, seen: set[str]) -> Iterator[Diagnostic]:
    """Over a join, a star may bring two columns of one name; Spark would put out both, a stream cannot have them."""
    bindings = block.scopes.rows.bindings
    wanted = [binding for binding in bindings if star.qualifier is None or binding.name.lower() == star.qualifier.lower()]
    merged = block.scopes.rows.merged if star.qualifier is None else frozenset()
    for binding in wanted:
        for column in binding.columns:
            name = column.name.lower()
            if name in seen and name not in merged and len(bindings) > 1:
                hint = f"name the columns, one with an alias: {binding.name}.{column.name} AS {binding.name}_{column.name}"
                yield Diagnostic("WR215", f'two output columns are called "{column.name}"', star.span, hint)
            seen.add(name)


def _free(name: str, taken: set[str]) -> str:
    base = name if name.isidentifier() else "value"
    return next(f"{base}_{count}" for count in range(2, len(taken) + 3) if f"{base}_{count}".lower() not in taken)
