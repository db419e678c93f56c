"""WR218: a VARIANT is Spark's own form of JSON, which no reader outside of it knows."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import infer, item_name
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Star
from windrow.model.statement import CreateStreamAs, SelectStatement
from windrow.model.types import VARIANT
from windrow.sql import render_expr


def variant_output(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if not block.is_outermost or not _leaves(block):
            continue
        for item, scope in zip(block.select.items, block.scopes.items, strict=True):
            if not isinstance(item.expr, Star) and infer(item.expr, scope) == VARIANT:
                shown = render_expr(item.expr)
                hint = f"write to_json({shown}) AS {item.alias or 'json'}, or cast it: {shown}::STRING"
                yield Diagnostic("WR218", f"{item_name(item)} is a VARIANT, which cannot be written", item.expr.span, hint)


def _leaves(block: Block) -> bool:
    statement = block.statement
    has_sink = isinstance(statement, CreateStreamAs) and statement.options.get("connector") is not None
    return has_sink or isinstance(statement, SelectStatement)
