"""The clauses of a SELECT after FROM, each with the scope that its names have: listed once, for everything that goes through them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.catalog.scope import Scope
from windrow.catalog.typing import SelectScopes
from windrow.model.expr import Node
from windrow.model.query import Select


def change_clauses(select: Select, scopes: SelectScopes, change: Callable[[Any, Scope], Any]) -> Select:
    """WHERE, GROUP BY, WINDOW, HAVING, QUALIFY and ORDER BY changed; the list, FROM and lateral views are left to the caller.

    A change gives what may stand where the node stood.
    """

    def changed(node: Node | None, scope: Scope) -> Any:
        return None if node is None else change(node, scope)

    return replace(
        select,
        where=changed(select.where, scopes.rows),
        group_by=tuple(change(expr, scopes.grouping) for expr in select.group_by),
        window=changed(select.window, scopes.rows),
        having=changed(select.having, scopes.after),
        qualify=changed(select.qualify, scopes.after),
        order_by=tuple(change(key, scopes.after) for key in select.order_by),
    )
