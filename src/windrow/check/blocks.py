"""The queries of a script taken apart: every SELECT with its scopes, and every expression with the clause it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from windrow.catalog.lifetimes import Lifetimes, lifetimes
from windrow.catalog.relation import Names
from windrow.catalog.schema import Catalog
from windrow.catalog.scope import Binding, Scope, walk_scoped
from windrow.catalog.typing import SelectScopes, names_under, select_scopes
from windrow.model.constraint import Constraint
from windrow.model.expr import Expr, Node
from windrow.model.query import DerivedSource, NamedSource, Query, Select, Union
from windrow.model.statement import (
    CreateStream,
    CreateStreamAs,
    CreateTableAs,
    Explain,
    InsertInto,
    Script,
    SelectStatement,
    Statement,
)
from windrow.model.window import EventTime, Punctuated, WhenRow


@dataclass(frozen=True)
class Place:
    """An expression and where it stands; ``clause`` is the word a message uses."""

    clause: str
    expr: Expr
    scope: Scope
    # The expression's nodes with the scope that holds at each: every rule walks them, so they are found once.
    nodes: tuple[tuple[Node, Scope], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(walk_scoped(self.expr, self.scope)))


@dataclass(frozen=True)
class Block:
    """One SELECT. ``is_outermost`` is false for common tables, derived tables and subqueries."""

    select: Select
    scopes: SelectScopes
    statement: Statement
    places: tuple[Place, ...]
    outer: Scope | None
    is_outermost: bool

    @property
    def is_over_tables(self) -> bool:
        """Whether it is Spark's to run, whole: a subquery, or a common or derived table that reads tables only."""
        if self.outer is not None:
            return True
        read = self.scopes.rows.bindings[: len(self.select.joins) + 1]
        return not self.is_outermost and bool(read) and all(binding.kind == "table" for binding in read)


@dataclass(frozen=True)
class UnionBlock:
    union: Union
    names: Names
    outer: Scope | None


@dataclass(frozen=True)
class Context:
    """All that a rule may look at. ``script`` is without what was dropped."""

    script: Script
    catalog: Catalog
    blocks: tuple[Block, ...]
    unions: tuple[UnionBlock, ...]
    lifetimes: Lifetimes
    # What streams expect of their rows: a block for each, with a condition in each place.
    expectations: tuple[Block, ...] = ()
    # Nothing else is wrong, so what is unknown is no broken definition but a stream of which no row was seen.
    has_unseen: bool = False

    def may_judge(self, binding: Binding) -> bool:
        return binding.is_known or self.has_unseen

    @property
    def judged(self) -> tuple[Block, ...]:
        """Whatever has expressions: the queries, and what streams expect."""
        return (*self.blocks, *self.expectations)

    def nodes(self) -> Iterator[tuple[Node, Scope, Place, Block]]:
        """Every expression node of the script."""
        for block in self.judged:
            for place in block.places:
                for node, scope in place.nodes:
                    yield node, scope, place, block


def build_context(script: Script, catalog: Catalog) -> Context:
    visitor = _Visitor()
    lives = lifetimes(script)
    for statement in lives.current:
        query = query_of(statement)
        if query is not None:
            visitor.visit(query, catalog, None, statement, is_outermost=True)
    expectations = tuple(_expectations(statement, catalog) for statement in lives.current if constraints_of(statement))
    return Context(
        replace(script, statements=lives.current), catalog, tuple(visitor.blocks), tuple(visitor.unions), lives, expectations=expectations
    )


def constraints_of(statement: Statement) -> tuple[Constraint, ...]:
    match statement:
        case CreateStream(constraints=constraints) | CreateStreamAs(constraints=constraints):
            return constraints
        case Explain(statement=explained):
            return constraints_of(explained)
        case _:
            return ()


def _expectations(statement: Statement, catalog: Catalog) -> Block:
    """The conditions of a stream's constraints, which see its rows as a query over it would."""
    while isinstance(statement, Explain):
        statement = statement.statement
    assert isinstance(statement, CreateStream | CreateStreamAs)
    select = Select((), NamedSource(statement.name))
    scopes = select_scopes(select, catalog)
    places = tuple(Place("CONSTRAINT", each.condition, scopes.rows) for each in statement.constraints)
    return Block(select, scopes, statement, places, None, is_outermost=True)


def query_of(statement: Statement) -> Query | None:
    match statement:
        case CreateStreamAs(query=query) | CreateTableAs(query=query) | InsertInto(query=query) | SelectStatement(query=query):
            return query
        case Explain(statement=explained):
            return query_of(explained)
        case _:
            return None


@dataclass
class _Visitor:
    blocks: list[Block] = field(default_factory=list)
    unions: list[UnionBlock] = field(default_factory=list)

    def visit(self, query: Query, names: Names, outer: Scope | None, statement: Statement, *, is_outermost: bool = False) -> None:
        for count, table in enumerate(query.ctes):
            # A common table sees those before it.
            self.visit(table.query, names_under(replace(query, ctes=query.ctes[:count]), names, outer), outer, statement)
        if isinstance(query, Union):
            under = names_under(query, names, outer)
            self.unions.append(UnionBlock(query, under, outer))
            self.visit(query.left, under, outer, statement, is_outermost=is_outermost)
            self.visit(query.right, under, outer, statement, is_outermost=is_outermost)
            return
        scopes = select_scopes(query, names, outer)
        for source in (query.source, *(join.source for join in query.joins)):
            if isinstance(source, DerivedSource):
                self.visit(source.query, scopes.names, outer, statement)
        block = Block(query, scopes, statement, tuple(_places(query, scopes)), outer, is_outermost)
        self.blocks.append(block)
        for place in block.places:
            for node, scope in place.nodes:
                if isinstance(node, Select | Union):
                    self.visit(node, scope.names, scope, statement)


def _places(select: Select, scopes: SelectScopes) -> Iterator[Place]:
    for item, scope in zip(select.items, scopes.items, strict=True):
        yield Place("SELECT", item.expr, scope)
    for source in (select.source, *(join.source for join in select.joins)):
        if isinstance(source, NamedSource) and source.as_of is not None:
            yield Place("FOR SYSTEM_TIME AS OF", source.as_of, scopes.rows)
    for count, join in enumerate(select.joins):
        if join.on is not None:
            # ON sees the sources up to its own join.
            yield Place("ON", join.on, replace(scopes.rows, bindings=scopes.rows.bindings[: count + 2]))
    for view in select.lateral_views:
        yield Place("LATERAL VIEW", view.call, scopes.rows)
    if select.where is not None:
        yield Place("WHERE", select.where, scopes.rows)
    for expr in select.group_by:
        yield Place("GROUP BY", expr, scopes.grouping)
    yield from _window_places(select, scopes)
    if select.having is not None:
        yield Place("HAVING", select.having, scopes.after)
    if select.qualify is not None:
        yield Place("QUALIFY", select.qualify, scopes.after)
    for key in select.order_by:
        yield Place("ORDER BY", key.expr, scopes.after)


def _window_places(select: Select, scopes: SelectScopes) -> Iterator[Place]:
    window = select.window
    if window is None:
        return
    if isinstance(window.time, EventTime) and window.time.column is not None:
        yield Place("WINDOW", window.time.column, scopes.rows)
    if isinstance(window.watermark, Punctuated):
        yield Place("WATERMARK", window.watermark.predicate, scopes.rows)
    for trigger in window.triggers:
        if isinstance(trigger, WhenRow):
            yield Place("TRIGGER", trigger.predicate, scopes.rows)
