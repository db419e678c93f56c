"""WR210: a stream or table that nothing defines."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.lifetimes import Definition
from windrow.catalog.relation import Names
from windrow.check.blocks import Context
from windrow.check.suggestions import relation_hint
from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.query import NamedSource
from windrow.model.statement import Describe, InsertInto


def unknown_relation(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for source in (block.select.source, *(join.source for join in block.select.joins)):
            if isinstance(source, NamedSource):
                yield from _judge(context, source.name, source.span, block.scopes.names)
    seen: set[str] = set()
    for statement in context.lifetimes.whole:
        if isinstance(statement, Definition):
            seen.add(statement.name.lower())
        # What is dropped further below can still be described.
        if isinstance(statement, InsertInto) or (isinstance(statement, Describe) and statement.name.lower() not in seen):
            yield from _judge(context, statement.name, statement.span, context.catalog)


def _judge(context: Context, name: str, span: Span | None, names: Names) -> Iterator[Diagnostic]:
    if names.relation(name) is None:
        yield Diagnostic("WR210", f'unknown stream or table "{name}"', span, relation_hint(context.catalog, name))
