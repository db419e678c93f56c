"""WR265: what changed since the last refresh can be told by a column only if rows have a key, and if there is a refresh."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.inserting import explained
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateTable


def table_refresh(context: Context) -> Iterator[Diagnostic]:
    for statement in map(explained, context.script.statements):
        if not isinstance(statement, CreateTable):
            continue
        column = next((entry for entry in statement.options if entry.key.lower() == "refresh.column"), None)
        if column is None:
            continue
        if not statement.primary_key:
            first = statement.columns[0].name if statement.columns else "id"
            message = f"the table {statement.name} is refreshed by {column.value}, so a changed row must replace the one it was"
            yield Diagnostic("WR265", message, column.span, f"name its key: PRIMARY KEY ({first})")
        elif statement.options.get("refresh.interval") is None:
            message = f"the table {statement.name} is never refreshed, so there is nothing to refresh it by"
            yield Diagnostic("WR265", message, column.span, "add 'refresh.interval' = '5m', or leave 'refresh.column' out")
