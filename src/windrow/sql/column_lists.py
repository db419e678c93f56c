"""Names for the columns of a query: ``WITH x (a, b) AS (...)`` and ``(SELECT ...) AS x (a, b)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.model.expr import Column, Field, Star
from windrow.model.place import Span
from windrow.model.query import DerivedSource, Query, Select, SelectItem, Union
from windrow.sql import codes
from windrow.sql.cursor import Cursor


@dataclass(frozen=True)
class ColumnList:
    """The names, and where they stand."""

    names: tuple[str, ...]
    span: Span


def read_column_list(cursor: Cursor) -> ColumnList | None:
    """``(a, b)``, if it is there: what else begins so, such as ``PIVOT (SUM(a) ...)``, goes on in another way."""
    start = cursor.peek()
    if not cursor.at("(") or cursor.peek(2).key not in (",", ")"):
        return None
    names = cursor.in_parentheses(lambda inner: inner.between_commas(lambda each: each.name("the name of a column")))
    return ColumnList(names, cursor.since(start))


def with_columns(cursor: Cursor, name: str, query: Query, listed: ColumnList | None) -> Query:
    """The columns of a query under the names that are listed, if any are."""
    if listed is None:
        return query
    first, columns = query, listed.names
    while isinstance(first, Union):
        first = first.left
    if any(isinstance(item.expr, Star) for item in first.items) or len(first.items) != len(columns):
        many = "*" if any(isinstance(item.expr, Star) for item in first.items) else str(len(first.items))
        message = f"{name} lists {len(columns)} columns, and its query selects {many}"
        raise cursor.fault(codes.MISPLACED, message, listed.span, "list as many names as the query has columns, and no *")
    own = [item.alias or (item.expr.name if isinstance(item.expr, Column | Field) else None) for item in first.items]
    named = [f"_column_{number}" if column is None else column for number, column in enumerate(own)]
    inner = _with_names(query, named)
    items = tuple(SelectItem(Column(old), new) for old, new in zip(named, columns, strict=True))
    return Select(items, DerivedSource(inner, name), span=query.span)


def _with_names(query: Query, names: Sequence[str]) -> Query:
    """Items without a name get one, in the part that names the columns of all."""
    if isinstance(query, Union):
        return replace(query, left=_with_names(query.left, names))
    items = tuple(
        item if item.alias or isinstance(item.expr, Column | Field) else replace(item, alias=name)
        for item, name in zip(query.items, names, strict=True)
    )
    return replace(query, items=items)
