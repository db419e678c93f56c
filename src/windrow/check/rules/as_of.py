"""WR259: FOR SYSTEM_TIME AS OF asks for a version, so there must be versions."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.relation import WithCommonTables
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.query import NamedSource
from windrow.model.statement import CreateTable


def as_of(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for source in (block.select.source, *(join.source for join in block.select.joins)):
            if isinstance(source, NamedSource) and source.as_of is not None:
                yield from _judge(source, block)


def _judge(source: NamedSource, block: Block) -> Iterator[Diagnostic]:
    relation = block.scopes.names.relation(source.name)
    if relation is None:
        return
    if relation.kind != "table" or not block.select.joins or block.is_over_tables:
        message = f"FOR SYSTEM_TIME AS OF is for a table that a stream is joined with, and {source.name} is none here"
        yield Diagnostic("WR259", message, source.span, "remove FOR SYSTEM_TIME AS OF")
    elif isinstance(names := block.scopes.names, WithCommonTables) and relation in names.common:
        message = f"{source.name} is a query over tables, and only a table has versions"
        yield Diagnostic("WR259", message, source.span, "join the table itself, and filter in ON")
    elif isinstance(relation.defined_by, CreateTable) and relation.defined_by.options.get("event.time.field") is None:
        message = f"the rows of the table {source.name} do not say since when they hold"
        yield Diagnostic(
            "WR259", message, source.span, f"name the column that does, in CREATE TABLE {source.name}: 'event.time.field' = 'since'"
        )
