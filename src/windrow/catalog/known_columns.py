"""Definitions whose columns the connector knows: a list is not needed, and where there is one it chooses."""

from __future__ import annotations

from dataclasses import replace

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.model.statement import CreateStream, CreateTable, Script, Statement
from windrow.model.types import ColumnDef


def with_known_columns(script: Script) -> Script:
    """The script with the columns of such streams filled in."""
    return replace(script, statements=tuple(_completed(statement) for statement in script.statements))


def known_columns(statement: Statement) -> tuple[ConnectorSpec, tuple[ColumnDef, ...]] | None:
    """The connector of a stream and the columns that it knows, or None where it leaves them to the list."""
    if not isinstance(statement, CreateStream):
        return None
    spec = CONNECTORS.get((statement.options.get("connector") or "").lower())
    if spec is None or spec.columns is None:
        return None
    return spec, spec.columns({entry.key.lower(): entry.value for entry in statement.options})


def change_column(statement: Statement) -> ColumnDef | None:
    """The column that says which change a row is, of a stream or table whose records are changes."""
    if not isinstance(statement, CreateStream | CreateTable):
        return None
    spec = CONNECTORS.get((statement.options.get("connector") or "").lower())
    return None if spec is None else spec.change_column({entry.key.lower(): entry.value for entry in statement.options})


def _completed(statement: Statement) -> Statement:
    change = change_column(statement)
    if change is not None and isinstance(statement, CreateStream) and statement.columns:
        if all(column.name.lower() != change.name for column in statement.columns):
            return replace(statement, columns=(*statement.columns, change))
        return statement
    known = known_columns(statement)
    if known is None or not isinstance(statement, CreateStream):
        return statement
    spec, columns = known
    if not statement.columns:
        return replace(statement, columns=columns)
    listed = {column.name.lower() for column in statement.columns}
    lacking = tuple(column for column in columns if column.name == spec.event_time and column.name not in listed)
    return replace(statement, columns=(*lacking, *statement.columns))
