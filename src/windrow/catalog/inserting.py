"""INSERT INTO: which value of a query goes into which column of its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.relation import Names
from windrow.catalog.typing import item_name, output_columns
from windrow.model.expr import Star
from windrow.model.query import Query, Select, SelectItem, Union
from windrow.model.statement import Explain, InsertInto, Statement
from windrow.model.system import system_column
from windrow.model.types import ColumnDef


def value_columns(query: Query, names: Names) -> tuple[ColumnDef, ...] | None:
    """What a query puts into columns; None where that cannot be told.

    A system column that is selected by its name is a value like any other. ``expr AS _event_time`` is none: it speaks of the row.
    """
    columns = output_columns(query, names)
    if columns is None:
        return None
    said = {item.alias.lower() for item in _first(query).items if item.alias is not None and system_column(item.alias) is not None}
    return tuple(column for column in columns if column.name.lower() not in said)


def with_distinct_names(query: Query, names: Names) -> Query:
    """The query with another name for each item whose name is taken: values that go by position need none of their own."""
    if isinstance(query, Union):
        return replace(query, left=with_distinct_names(query.left, names), right=with_distinct_names(query.right, names))
    seen: set[str] = set()
    items: list[SelectItem] = []
    for item in query.items:
        own = {column.name.lower() for column in output_columns(replace(query, items=(item,)), names) or ()}
        if own & seen and not isinstance(item.expr, Star):
            item = replace(item, alias=f"{item_name(item)}/{len(items) + 1}")
            own = {item_name(item).lower()}
        seen |= own
        items.append(item)
    return replace(query, items=tuple(items))


def _first(query: Query) -> Select:
    """The SELECT that names the columns of a query."""
    return _first(query.left) if isinstance(query, Union) else query


def inserts_of(statements: tuple[Statement, ...]) -> Iterator[InsertInto]:
    """Every INSERT INTO that runs: one that is only explained does not."""
    return (statement for statement in statements if isinstance(statement, InsertInto))


def explained(statement: Statement) -> Statement:
    """What EXPLAIN asks about; any other statement itself."""
    return statement.statement if isinstance(statement, Explain) else statement
