"""WR216: a star stands for columns in a select list and for rows in COUNT(*), nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Star


def star(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        yield from _items(block)
        for place in block.places:
            allowed = {id(place.expr)} if place.clause == "SELECT" else set()
            for node, _ in place.nodes:
                if isinstance(node, Call) and _counts_rows(node):
                    allowed.update(id(arg) for arg in node.args)
                elif isinstance(node, Star) and id(node) not in allowed:
                    hint = "name a column instead, or write COUNT(*)"
                    yield Diagnostic("WR216", f"* cannot stand here in {place.clause}", node.span, hint)


def _counts_rows(call: Call) -> bool:
    # STRUCT(*) and TO_JSON(STRUCT(*)) are how Spark packs a whole row.
    return call.name.lower() in ("count", "struct") and all(isinstance(arg, Star) for arg in call.args)


def _items(block: Block) -> Iterator[Diagnostic]:
    for item in block.select.items:
        if not isinstance(item.expr, Star):
            continue
        shown = f"{item.expr.qualifier}.*" if item.expr.qualifier else "*"
        span = item.expr.span or item.span
        if item.alias is not None:
            yield Diagnostic("WR216", f"{shown} cannot have an alias", span, f"write {shown} alone, or name the columns")
        elif block.scopes.is_aggregate and block.outer is None:
            keys = "the GROUP BY columns" if block.select.group_by else "the columns"
            yield Diagnostic("WR216", f"{shown} cannot stand in a query that aggregates", span, f"name {keys} instead, or write COUNT(*)")
        elif item.expr.qualifier is not None and block.scopes.rows.binding(item.expr.qualifier) is None:
            known = ", ".join(f"{binding.name}.*" for binding in block.scopes.rows.bindings if binding.name)
            yield Diagnostic("WR216", f'unknown name "{item.expr.qualifier}" before .*', span, f"write {known}")
