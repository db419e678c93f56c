"""WR244: a table that a query makes holds one row per key, so it must have one."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog import keys
from windrow.catalog.inserting import explained
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.query import Query, Union
from windrow.model.statement import CreateTableAs


def table_key(context: Context) -> Iterator[Diagnostic]:
    for statement in map(explained, context.script.statements):
        if not isinstance(statement, CreateTableAs):
            continue
        relation = context.catalog.relation(statement.name)
        if relation is None or not relation.is_known or keys.table_key(statement.query, context.catalog) is not None:
            continue
        if _is_grouped(statement.query):
            message = f"the key of the table {statement.name} is not in its select list: it is what GROUP BY names"
            hint = "add every GROUP BY expression to the select list, or mark a key: SELECT k PRIMARY KEY, ..."
        else:
            first = next((column.name for column in relation.columns), "k")
            message = f"the table {statement.name} has no key: it holds the latest row of each"
            hint = f"mark one, SELECT {first} PRIMARY KEY, ..., or GROUP BY it; for every row write CREATE STREAM {statement.name} AS"
        yield Diagnostic("WR244", message, statement.query.span or statement.span, hint)


def _is_grouped(query: Query) -> bool:
    return _is_grouped(query.left) if isinstance(query, Union) else bool(query.group_by)
