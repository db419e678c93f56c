"""WR241: ON EVENT_TIME(col) needs a column that is a time."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import infer
from windrow.check.agreement import is_open
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Column, Expr
from windrow.model.query import NamedSource
from windrow.model.statement import CreateStream
from windrow.model.types import BIGINT, TIMESTAMP, TIMESTAMP_NTZ, ColumnDef

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ, BIGINT)


def window_time(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for place in block.places:
            if place.clause != "WINDOW":
                continue
            type_ = infer(place.expr, place.scope)
            if not is_open(type_) and type_ not in _TIMES and not _is_event_time(place.expr, block):
                name = getattr(place.expr, "name", "the column")
                columns = [column for binding in place.scope.bindings for column in binding.columns]
                yield Diagnostic("WR241", f'"{name}" is {type_}, not a time for a window', place.expr.span, _hint(columns))


def _is_event_time(expr: Expr, block: Block) -> bool:
    """Whether it is the column that the stream takes its event time from: how to read it is said there."""
    source = block.select.source
    if not isinstance(expr, Column) or not isinstance(source, NamedSource) or block.select.joins:
        return False
    relation = block.scopes.names.relation(source.name)
    if relation is None or not isinstance(relation.defined_by, CreateStream):
        return False
    return (relation.defined_by.options.get("event.time.field") or "").lower() == expr.name.lower()


def _hint(columns: list[ColumnDef]) -> str:
    times = [column.name for column in columns if column.type in _TIMES]
    usable = f": {', '.join(times)}" if times else "; leave ON EVENT_TIME out to use the stream's own event time"
    return f"use a TIMESTAMP, or a BIGINT of seconds, milliseconds, microseconds or nanoseconds{usable}"
