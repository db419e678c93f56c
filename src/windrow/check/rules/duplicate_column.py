"""WR203: a column declared twice."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateStream, CreateTable


def duplicate_column(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        if not isinstance(statement, CreateStream | CreateTable):
            continue
        seen: set[str] = set()
        for column in statement.columns:
            if column.name.lower() in seen:
                message = f'"{statement.name}" declares the column "{column.name}" twice'
                yield Diagnostic("WR203", message, statement.span, f'remove one "{column.name}" or rename it')
            seen.add(column.name.lower())
