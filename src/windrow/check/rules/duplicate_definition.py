"""WR201: a name that is taken."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Node, walk
from windrow.model.query import Select, Union


def duplicate_definition(context: Context) -> Iterator[Diagnostic]:
    for name, statement in context.catalog.duplicates:
        yield _twice(name, statement)
    for statement in context.script.statements:
        for query in walk(statement):
            if isinstance(query, Select | Union):
                names = [table.name.lower() for table in query.ctes]
                yield from (_twice(table.name, table) for place, table in enumerate(query.ctes) if names[place] in names[:place])


def _twice(name: str, place: Node) -> Diagnostic:
    return Diagnostic("WR201", f'"{name}" is defined twice', place.span, f'give one of them another name, for example "{name}_2"')
