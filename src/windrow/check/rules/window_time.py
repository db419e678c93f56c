"""WR241: ON EVENT_TIME(col) needs a column that is a time."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import infer
from windrow.check.agreement import is_open
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.types import BIGINT, TIMESTAMP, TIMESTAMP_NTZ, ColumnDef

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ, BIGINT)


def window_time(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for place in block.places:
            if place.clause != "WINDOW":
                continue
            type_ = infer(place.expr, place.scope)
            if not is_open(type_) and type_ not in _TIMES:
                name = getattr(place.expr, "name", "the column")
                columns = [column for binding in place.scope.bindings for column in binding.columns]
                yield Diagnostic("WR241", f'"{name}" is {type_}, not a time for a window', place.expr.span, _hint(columns))


def _hint(columns: list[ColumnDef]) -> str:
    times = [column.name for column in columns if column.type in _TIMES]
    usable = f": {', '.join(times)}" if times else "; leave ON EVENT_TIME out to use the stream's own event time"
    return f"use a TIMESTAMP, or a BIGINT of milliseconds{usable}"
