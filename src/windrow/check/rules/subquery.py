"""WR253, WR256, WR257: what a query over tables may be. It reads tables, and its columns are those that its place needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.scope import Resolved
from windrow.catalog.typing import output_columns
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Column, Exists, InQuery, Lambda, ScalarQuery, walk
from windrow.model.query import NamedSource
from windrow.sql import render_expr

_NOT_IN = frozenset({"ON", "LATERAL VIEW", "FOR SYSTEM_TIME AS OF"})


def subquery(context: Context) -> Iterator[Diagnostic]:
    for node, scope, place, block in context.nodes():
        if isinstance(node, Lambda) and any(isinstance(found, InQuery | Exists | ScalarQuery) for found in walk(node.body)):
            yield Diagnostic("WR257", "a subquery cannot stand inside a lambda", node.span, "ask it beside the call, not within")
        if not isinstance(node, InQuery | Exists | ScalarQuery):
            continue
        if place.clause in _NOT_IN and not block.is_over_tables:
            yield Diagnostic("WR257", f"a subquery cannot stand in {place.clause}", node.span, "move the condition to WHERE")
        if isinstance(node, Exists):
            continue
        columns = output_columns(node.query, scope.names, scope)
        if columns is not None and len(columns) != 1:
            what = "IN (SELECT ...)" if isinstance(node, InQuery) else "a subquery used as a value"
            hint = f"select one of: {', '.join(column.name for column in columns)}" if columns else "select one column"
            yield Diagnostic("WR253", f"{what} needs one column, not {len(columns)}", node.query.span or node.span, hint)
    for block in context.blocks:
        if block.is_over_tables:
            yield from _judge(block)


def _judge(block: Block) -> Iterator[Diagnostic]:
    """Tables are at hand as they stand; a stream has no end at which one could say what is not in it."""
    select = block.select
    sources = [source for source in (select.source, *(join.source for join in select.joins)) if source is not None]
    for source, binding in zip(sources, block.scopes.rows.bindings, strict=False):
        if isinstance(source, NamedSource) and binding.kind == "stream" and binding.is_known:
            hint = f"join the streams within a bound of time: JOIN {source.name} WITHIN 1m ON ...; or make it a table: CREATE TABLE"
            yield Diagnostic("WR256", f'a subquery reads tables, and "{source.name}" is a stream', source.span, hint)
    yield from _judge_reach(block)
    for word, part in (("WINDOW", select.window), ("EMIT", select.emit)):
        if part is not None:
            yield Diagnostic("WR257", f"a query over tables has no {word}", part.span or select.span, f"remove {word}")


def _judge_reach(block: Block) -> Iterator[Diagnostic]:
    """A subquery within a subquery sees the tables of the one around it, but not the row around that one."""
    around = block.outer
    if around is None or around.outer is None:
        return
    for place in block.places:
        for node, scope in place.nodes:
            if not isinstance(node, Column) or isinstance(replace(scope, outer=None).resolve(node), Resolved):
                continue
            if isinstance(around.resolve(node), Resolved) and not isinstance(replace(around, outer=None).resolve(node), Resolved):
                hint = f"compare {render_expr(node)} in the subquery around this one"
                yield Diagnostic("WR257", f"a subquery within a subquery cannot see {render_expr(node)}", node.span, hint)
