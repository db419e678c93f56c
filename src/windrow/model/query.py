"""Queries: SELECT with its window, emission and sources, as written and before any name is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from windrow.model.expr import Expr, Node, SortKey
from windrow.model.options import Options
from windrow.model.window import WindowClause


@dataclass(frozen=True)
class SelectItem(Node):
    expr: Expr
    alias: str | None = None
    is_primary_key: bool = False


@dataclass(frozen=True)
class NamedSource(Node):
    """A stream or table by name; ``as_of`` is FOR SYSTEM_TIME AS OF, ``is_history`` says HISTORY OF before the name."""

    name: str
    alias: str | None = None
    as_of: Expr | None = None
    is_history: bool = False


@dataclass(frozen=True)
class DerivedSource(Node):
    query: Query
    alias: str | None = None


Source = NamedSource | DerivedSource


class JoinKind(Enum):
    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    CROSS = "CROSS"


@dataclass(frozen=True)
class Within(Node):
    """WITHIN d, or WITHIN (before, after), in microseconds."""

    before: int
    after: int


@dataclass(frozen=True)
class Join(Node):
    kind: JoinKind
    source: Source
    on: Expr | None = None
    using: tuple[str, ...] = ()
    within: Within | None = None
    # ASOF JOIN: of the rows that fulfil the condition, the one with the latest time.
    is_asof: bool = False


@dataclass(frozen=True)
class LateralView(Node):
    """LATERAL VIEW [OUTER] generator(...) alias AS columns."""

    call: Expr
    alias: str | None
    columns: tuple[str, ...]
    is_outer: bool = False


@dataclass(frozen=True)
class EmitFinal(Node):
    pass


@dataclass(frozen=True)
class EmitChanges(Node):
    is_per_batch: bool = False


Emit = EmitFinal | EmitChanges


@dataclass(frozen=True)
class CommonTable(Node):
    name: str
    query: Query


@dataclass(frozen=True)
class Select(Node):
    items: tuple[SelectItem, ...]
    source: Source | None = None
    joins: tuple[Join, ...] = ()
    lateral_views: tuple[LateralView, ...] = ()
    is_distinct: bool = False
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    window: WindowClause | None = None
    having: Expr | None = None
    qualify: Expr | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    emit: Emit | None = None
    options: Options = Options()
    ctes: tuple[CommonTable, ...] = ()


@dataclass(frozen=True)
class Union(Node):
    left: Query
    right: Query
    is_all: bool = True
    ctes: tuple[CommonTable, ...] = ()


Query = Select | Union


def selects_of(query: Query) -> Iterator[Select]:
    """Every SELECT of a query: of its common tables, of both sides of a UNION, and of derived tables."""
    for table in query.ctes:
        yield from selects_of(table.query)
    if isinstance(query, Union):
        yield from selects_of(query.left)
        yield from selects_of(query.right)
        return
    yield query
    for source in (query.source, *(join.source for join in query.joins)):
        if isinstance(source, DerivedSource):
            yield from selects_of(source.query)
