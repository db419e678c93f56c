"""WR205: where the connector knows the columns, a list chooses from them."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.known_columns import known_columns
from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateStream


def listed_column(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        known = known_columns(statement)
        if known is None or not known[1] or not isinstance(statement, CreateStream):
            continue
        spec, columns = known
        types = {column.name.lower(): column.type for column in columns}
        for column in statement.columns:
            own = types.get(column.name.lower())
            if own is None:
                near = closest(column.name, list(types))
                hint = f'did you mean "{near[0]}"?' if near else f"it has: {', '.join(types)}"
                yield Diagnostic("WR205", f'{spec.name} has no column "{column.name}" here', statement.span, hint)
            elif own != column.type:
                message = f'"{column.name}" of {spec.name} is {own}, not {column.type}'
                yield Diagnostic("WR205", message, statement.span, f"{column.name} {own}, or leave the list out")
