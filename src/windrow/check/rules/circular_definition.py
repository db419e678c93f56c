"""WR202: a stream that reads itself, directly or by way of others."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic


def circular_definition(context: Context) -> Iterator[Diagnostic]:
    for cycle in context.catalog.cycles:
        names = [_shown(context, key) for key in cycle]
        relation = context.catalog.relation(cycle[0])
        span = relation.defined_by.span if relation is not None and relation.defined_by is not None else None
        path = " reads ".join(f'"{name}"' for name in [*names, names[0]])
        yield Diagnostic("WR202", f"circular definition: {path}", span, f'let "{names[-1]}" read a stream outside the circle')


def _shown(context: Context, key: str) -> str:
    relation = context.catalog.relation(key)
    return key if relation is None else relation.name
