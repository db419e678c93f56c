"""WR231: what a query that aggregates puts out must be a group key or an aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.binding import meaning
from windrow.catalog.scope import Alias, Resolved, Scope, is_aggregate, walk_own
from windrow.check.blocks import Block, Context, Place
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Expr, Lambda, Literal, Node, Over, Star, children
from windrow.model.query import Select, SelectItem, Union
from windrow.model.system import Origin
from windrow.sql import render_expr

_JUDGED = frozenset({"SELECT", "HAVING", "QUALIFY", "ORDER BY"})


def not_grouped(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if not block.scopes.is_aggregate:
            continue
        keys = group_keys(block)
        if keys is None:
            continue
        for place in block.places:
            if place.clause in _JUDGED:
                yield from _judge(place.expr, place, keys, block)
                yield from _judge_subqueries(place, keys, block, context)


def group_keys(block: Block) -> frozenset[Expr] | None:
    """What GROUP BY groups by, aliases and positions replaced by what they stand for; None where a key is not known."""
    keys = set()
    for expr in block.select.group_by:
        expanded = expand_key(expr, block)
        if expanded is None or not _is_resolved(expanded, block.scopes.rows) or _has_unknown_call(expanded, block.scopes.rows):
            return None
        keys.add(normal_key(expanded, block))
    return frozenset(keys)


def normal_key(expr: Expr, block: Block) -> Expr:
    """Equal to the entry of ``group_keys`` that means the same."""
    return meaning(expr, block.select, block.scopes.rows)


def expand_key(expr: Expr, block: Block) -> Expr | None:
    """The expression behind an alias or a position of GROUP BY; None for a position that is not there."""
    if isinstance(expr, Literal) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
        return block.select.items[expr.value - 1].expr if 1 <= expr.value <= len(block.select.items) else None
    if isinstance(expr, Column):
        found = block.scopes.grouping.resolve(expr)
        if isinstance(found, Resolved) and isinstance(found.source, Alias):
            item = _aliased(block.select.items, expr.name)
            return expr if item is None else item.expr
    return expr


def _aliased(items: tuple[SelectItem, ...], name: str) -> SelectItem | None:
    return next((item for item in items if item.alias is not None and item.alias.lower() == name.lower()), None)


def _is_resolved(expr: Expr, scope: Scope) -> bool:
    return all(isinstance(scope.resolve(node), Resolved) for node in walk_own(expr) if isinstance(node, Column))


def _has_unknown_call(expr: Expr, scope: Scope) -> bool:
    return any(isinstance(node, Call) and scope.names.function(node.name) is None for node in walk_own(expr))


def _judge(node: Node, place: Place, keys: frozenset[Expr], block: Block) -> Iterator[Diagnostic]:
    if isinstance(node, Select | Union | Star):
        return
    if isinstance(node, Column):
        yield from _judge_column(node, place, keys, block)
        return
    if normal_key(node, block) in keys:  # type: ignore[arg-type]  # sort keys and frames are in no set of keys
        return
    if isinstance(node, Call) and (is_aggregate(node, block.scopes.names) or block.scopes.names.function(node.name) is None):
        return
    if isinstance(node, Lambda):
        place = replace(place, scope=place.scope.with_parameters(node.parameters))
    below = (*children(node.call), *children(node.spec)) if isinstance(node, Over) else children(node)
    for child in below:
        yield from _judge(child, place, keys, block)


def _judge_column(column: Column, place: Place, keys: frozenset[Expr], block: Block) -> Iterator[Diagnostic]:
    found = place.scope.resolve(column)
    if not isinstance(found, Resolved) or isinstance(found.source, Alias):
        return
    if found.source is None and found.system is None:
        return
    if found.system is not None and found.system.origin is not Origin.ROW and found.system.origin in place.scope.emits:
        return
    if normal_key(column, block) in keys or not _is_inner(column, block):
        return
    message = f'"{column.name}" is neither in GROUP BY nor aggregated ({place.clause})'
    yield Diagnostic("WR231", message, column.span, _hint(column, block))


def _judge_subqueries(place: Place, keys: frozenset[Expr], block: Block, context: Context) -> Iterator[Diagnostic]:
    """A subquery about a group is told what the group has: its keys."""
    asked = {id(node) for node, scope in place.nodes if isinstance(node, Select) and not scope.is_in_aggregate}
    for inner in context.blocks:
        if id(inner.select) not in asked:
            continue
        for each in inner.places:
            for node, scope in each.nodes:
                if isinstance(node, Column) and not isinstance(replace(scope, outer=None).resolve(node), Resolved):
                    yield from _judge_column(node, place, keys, block)


def _is_inner(column: Column, block: Block) -> bool:
    """A column of a query around this one is fixed while this one runs."""
    return isinstance(replace(block.scopes.rows, outer=None).resolve(column), Resolved)


def _hint(column: Column, block: Block) -> str:
    shown = render_expr(column)
    keys = ", ".join([*(render_expr(key) for key in block.select.group_by), shown])
    return f"add it: GROUP BY {keys}; or take one value of the group: LAST({shown})"
