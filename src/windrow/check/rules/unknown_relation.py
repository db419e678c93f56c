"""WR210: a stream or table that nothing defines."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.relation import Names
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.query import NamedSource
from windrow.model.statement import Describe, Drop, InsertInto


def unknown_relation(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for source in (block.select.source, *(join.source for join in block.select.joins)):
            if isinstance(source, NamedSource):
                yield from _judge(context, source.name, source.span, block.scopes.names)
    for statement in context.script.statements:
        if isinstance(statement, InsertInto | Describe) or (isinstance(statement, Drop) and not statement.if_exists):
            yield from _judge(context, statement.name, statement.span, context.catalog)


def _judge(context: Context, name: str, span: Span | None, names: Names) -> Iterator[Diagnostic]:
    if names.relation(name) is None:
        yield Diagnostic("WR210", f'unknown stream or table "{name}"', span, _hint(context, name))


def _hint(context: Context, name: str) -> str:
    known = [relation.name for relation in context.catalog.relations.values()]
    similar = context.catalog.closest_relations(name)
    if similar:
        return f'did you mean "{similar[0]}"? there are: {", ".join(known)}'
    create = f"CREATE STREAM {name} (...) WITH ('connector' = '...')"
    return f"there are: {', '.join(known)}; or define it: {create}" if known else f"define it: {create}"
