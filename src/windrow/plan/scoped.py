"""A SELECT changed everywhere at once, each expression with what names mean at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from windrow.catalog.clauses import change_clauses
from windrow.catalog.relation import Names
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer, item_name, select_scopes
from windrow.model.expr import Call, Cast, Column, Literal, Node, Path, Star, transform
from windrow.model.query import Select, SelectItem
from windrow.model.types import INTEGERS, VARIANT, DataType, is_numeric

Change = Callable[[Node, Scope], Node | None]


def change_select(select: Select, names: Names, change: Change) -> Select:
    """``change`` is asked about every node of every clause; an item that it changes keeps the name it had."""
    scopes = select_scopes(select, names)

    def changed(node: Any, scope: Scope) -> Any:
        return None if node is None else transform(node, lambda found: change(found, scope))

    items = tuple(
        replace(item, expr=expr, alias=item_name(item)) if (expr := changed(item.expr, scope)) is not item.expr else item
        for item, scope in zip(select.items, scopes.items, strict=True)
    )
    select = replace(
        select,
        items=items,
        joins=tuple(replace(join, on=changed(join.on, scopes.rows)) for join in select.joins),
        lateral_views=tuple(replace(view, call=changed(view.call, scopes.rows)) for view in select.lateral_views),
    )
    return change_clauses(select, scopes, changed)


def name_stars(select: Select, names: Names) -> Select:
    """``SELECT DISTINCT *`` compares columns, so they are named. Over a join, every star is, when names are bound."""
    if select.joins or not select.is_distinct or not any(isinstance(item.expr, Star) for item in select.items):
        return select
    columns = [column for binding in select_scopes(select, names).rows.bindings for column in binding.columns]
    starred = tuple(SelectItem(Column(column.name), column.name) for column in columns)
    return replace(select, items=tuple(each for item in select.items for each in (starred if isinstance(item.expr, Star) else (item,))))


def _may_not_fit(given: DataType, wanted: DataType) -> bool:
    """Whether Spark's cast stops, or gives another number, where the value does not fit."""
    return given == VARIANT or (is_numeric(given) and wanted in INTEGERS)


def open_variants(select: Select, names: Names, *, is_strict: bool) -> Select:
    """``v:a.b`` of a VARIANT is a call; of text it stays a path into JSON.

    What cannot be read or cast is NULL, unless the statement wants to stop; Spark's own functions for variants always stop.
    """
    attempt = "" if is_strict else "try_"

    def change(node: Node, scope: Scope) -> Node | None:
        def below(found: Node) -> Node | None:
            return change(found, scope)

        match node:
            case Path(base=base, path=path) if infer(base, scope) == VARIANT:
                return Call(f"{attempt}variant_get", (transform(base, below), Literal(path)), span=node.span)
            case Call(name=name, args=args) if name.lower() in ("parse_json", "variant_get"):
                return replace(node, name=attempt + name.lower(), args=tuple(transform(arg, below) for arg in args))
            case Cast(operand=operand, type=type_) if not is_strict and _may_not_fit(infer(operand, scope), type_):
                return replace(node, operand=transform(operand, below), is_try=True)
            case _:
                return None

    return change_select(select, names, change)
