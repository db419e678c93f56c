"""WR206: columns that would be taken for those that the engine gives rows itself."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.statement import CreateStream, CreateTable
from windrow.model.system import is_hidden


def reserved_column(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        if not isinstance(statement, CreateStream | CreateTable):
            continue
        for column in statement.columns:
            if is_hidden(column.name):
                message = f'"{column.name}" of "{statement.name}" is the name of a column that rows get while they are computed'
                yield Diagnostic(
                    "WR206", message, statement.span, f"call it otherwise, here and where it comes from: {column.name.strip('_')}"
                )
