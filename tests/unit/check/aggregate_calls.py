"""Every aggregate with every kind of argument at every place: a column, a literal, NULL and an expression."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from windrow.aggregates.registry import AGGREGATES
from windrow.catalog import Relation, build_catalog
from windrow.catalog.functions import Function, function
from windrow.check import check
from windrow.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, STRING, ColumnDef
from windrow.sql import parse

ROWS = Relation(
    "t",
    "stream",
    (ColumnDef("n", BIGINT), ColumnDef("x", DOUBLE), ColumnDef("s", STRING), ColumnDef("b", BOOLEAN), ColumnDef("h", BINARY)),
    is_known=True,
)
KINDS = (
    "n",
    "x",
    "s",
    "b",
    "1",
    "0.5",
    "'a'",
    "TRUE",
    "NULL",
    "n + 1",
    "upper(s)",
    "n > 1",
    "CAST(NULL AS DOUBLE)",
    "CAST(NULL AS STRING)",
)
_DEFAULTS = ("n", "x", "s", "b", "0.5", "','", "100", "h")
_MOST_ARGUMENTS = 3


def accepted(call: str) -> bool:
    """Whether the checks let a call pass."""
    script = parse(f"SELECT {call} AS v FROM t")
    return not [found for found in check(script, build_catalog(script, {"t": ROWS})) if not found.is_warning]


def calls(name: str) -> Iterator[str]:
    """Calls of an aggregate in which one argument is of every kind, the others such that the call can be right."""
    known = function(name)
    assert known is not None, name
    for count in range(1, _MOST_ARGUMENTS + 1):
        if known.accepts(count):
            yield from _calls(known, name, count)


def _calls(known: Function, name: str, count: int) -> Iterator[str]:
    defaults = next((args for args in product(_DEFAULTS, repeat=count) if accepted(_written(known, name, args))), None)
    for place in range(count if defaults is not None else 0):
        for kind in KINDS:
            args = [kind if place == i else arg for i, arg in enumerate(defaults or ())]
            yield _written(known, name, args)


def _written(known: Function, name: str, args: tuple[str, ...] | list[str]) -> str:
    return f"{name}({', '.join(args)})" + (" WITHIN GROUP (ORDER BY x)" if known.needs_within_group else "")


def different() -> list[str]:
    """One name of each aggregate: others are only other names of it."""
    return list({id(form): name for name, form in reversed(AGGREGATES.items())}.values())[::-1]
