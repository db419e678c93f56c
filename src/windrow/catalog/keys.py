"""The key of a table that a query makes, and of the rows that it writes."""

from __future__ import annotations

from windrow.catalog.relation import Names
from windrow.catalog.typing import is_aggregate_query, item_name, names_under
from windrow.model.expr import Column, Expr, Literal
from windrow.model.query import Query, Select, SelectItem, Union


def table_key(query: Query, names: Names) -> tuple[str, ...] | None:
    """The output columns that make the key: those marked PRIMARY KEY, else those of GROUP BY.

    A query that gives one group only has the key (). None: there is no key, or the select list does not have all of it.
    """
    if isinstance(query, Union):
        return table_key(query.left, names_under(query, names))
    marked = tuple(item_name(item) for item in query.items if item.is_primary_key)
    if marked:
        return marked
    if query.group_by:
        found = [_item_of(expr, query) for expr in query.group_by]
        return None if None in found else tuple(dict.fromkeys(item_name(item) for item in found if item is not None))
    if query.is_distinct:
        return None
    return () if is_aggregate_query(query, names) else None


def written_key(query: Query, names: Names) -> tuple[str, ...]:
    """The output columns by which a sink finds a row again: as in ``table_key``, with a bound of the window where there is one.

    () where the select list does not have all of it: then rows can only be added.
    """
    if isinstance(query, Union):
        return written_key(query.left, names_under(query, names)) if query.is_all else ()
    if any(item.is_primary_key for item in query.items) or query.window is None:
        return table_key(query, names) or ()
    if not is_aggregate_query(query, names):
        # Rows, of which a window holds many.
        return ()
    shown = {item.expr.name.lower(): item for item in reversed(query.items) if isinstance(item.expr, Column)}
    bounds = [shown[name] for name in query.window.kind.told_apart_by if name in shown]
    groups = table_key(query, names) if query.group_by else ()
    if not bounds or groups is None:
        return ()
    return tuple(dict.fromkeys((*groups, item_name(bounds[0]))))


def _item_of(key: Expr, select: Select) -> SelectItem | None:
    """The item that shows a key of GROUP BY: by its number, its alias, or as the same expression."""
    if isinstance(key, Literal) and isinstance(key.value, int):
        return select.items[key.value - 1] if 0 < key.value <= len(select.items) else None
    for item in select.items:
        if item.expr == key or (isinstance(key, Column) and isinstance(item.expr, Column) and item.expr.name.lower() == key.name.lower()):
            return item
    if isinstance(key, Column) and key.qualifier is None:
        return next((item for item in select.items if item.alias is not None and item.alias.lower() == key.name.lower()), None)
    return None
