"""Hints that name what is there, the closest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.catalog.names import closest
from windrow.catalog.schema import Catalog
from windrow.model.expr import Column
from windrow.model.system import SYSTEM_COLUMNS

_SHOWN = 20


def column_hint(name: str, owners: Sequence[tuple[str, Sequence[str]]], aliases: Iterable[str] = ()) -> str:
    """What a misspelt column may have meant, and what there is.

    >>> column_hint("vlume", [("trades", ["symbol", "volume"])])
    'did you mean "volume"? trades has: symbol, volume'
    """
    known = [column for _, columns in owners for column in columns] + list(aliases)
    if name.startswith("_"):
        known += [column.name for column in SYSTEM_COLUMNS]
    similar = closest(name, known)
    listing = "; ".join(f"{owner} has: {_listed(columns)}" if columns else f"{owner} has nothing inside" for owner, columns in owners)
    meant = f'did you mean "{similar[0]}"? ' if similar else ""
    return (meant + listing).strip()


def is_double_quoted(column: Column, text: str) -> bool:
    """Whether the name was written in double quotes, as others write a text."""
    return column.span is not None and text[column.span.start : column.span.start + 1] == '"'


def _listed(columns: Sequence[str]) -> str:
    more = [f"and {len(columns) - _SHOWN} more"] if len(columns) > _SHOWN else []
    return ", ".join([*columns[:_SHOWN], *more])


def relation_hint(catalog: Catalog, name: str) -> str:
    """What a misspelt stream or table may have meant, and what there is."""
    known = [relation.name for relation in catalog.relations.values()]
    similar = catalog.closest_relations(name)
    if similar:
        return f'did you mean "{similar[0]}"? there are: {", ".join(known)}'
    last = name.rpartition(".")[2]
    if last != name and last.lower() in (each.lower() for each in known):
        return f"names have no database before them: write {last}"
    create = f"CREATE STREAM {name} (...) WITH ('connector' = '...')"
    return f"there are: {', '.join(known)}; or define it: {create}" if known else f"define it: {create}"
