"""WR247, WR248, WR249: records that are changes of rows, where they would be taken for rows."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.known_columns import change_column
from windrow.catalog.schema import Catalog
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.changes import CREATED, OP, SNAPSHOT
from windrow.model.expr import Column, Node, Over, walk
from windrow.model.query import DerivedSource, Query, Select, Source, Union
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable


def changes(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        if isinstance(statement, CreateStream | CreateTable):
            yield from _definition(statement)
    for block in context.blocks:
        yield from _counted(block, context.catalog)


def _definition(statement: CreateStream | CreateTable) -> Iterator[Diagnostic]:
    change = change_column(statement)
    if change is None:
        return
    for column in statement.columns:
        if column.name.lower() == change.name and column.type != change.type:
            message = f'"{column.name}" of "{statement.name}" says which change a row is, which is a {change.type}'
            yield Diagnostic("WR248", message, statement.span, f"leave it out of the list, or write {change.name} {change.type}")
    if isinstance(statement, CreateTable) and not statement.primary_key:
        message = f'the table "{statement.name}" is made of changes, and no key says which row each of them changes'
        first = next((column.name for column in statement.columns), "id")
        yield Diagnostic("WR247", message, statement.span, f"add PRIMARY KEY ({first}) to the list of columns")


def _counted(block: Block, catalog: Catalog) -> Iterator[Diagnostic]:
    select = block.select
    if not (block.scopes.is_aggregate or any(isinstance(node, Over) for item in select.items for node in walk(item.expr))):
        return
    if any(_names_change(node) for node in _own(select)):
        return
    for source in _sources(select):
        name = _undecided(source, catalog)
        if name is not None:
            message = f"{name} has a row for each change, so a row that was updated counts twice and one that was deleted still counts"
            hint = (
                f"say which changes count: WHERE {OP.name} IN ('{CREATED}', '{SNAPSHOT}') are new rows, GROUP BY {OP.name} counts each; "
                f"CREATE TABLE {name} has the rows as they stand"
            )
            yield Diagnostic("WR249", message, source.span or select.span, hint)


def _undecided(source: Source, catalog: Catalog, seen: frozenset[str] = frozenset()) -> str | None:
    """The stream of changes that a source passes on without saying which of them count."""
    if isinstance(source, DerivedSource):
        return _undecided_query(source.query, catalog, seen)
    if source.name.lower() in seen:
        return None
    relation = catalog.relation(source.name)
    match None if relation is None else relation.defined_by:
        case CreateStream() as stream:
            return None if change_column(stream) is None else stream.name
        case CreateStreamAs(query=query):
            return _undecided_query(query, catalog, seen | {source.name.lower()})
        case _:
            return None


def _undecided_query(query: Query, catalog: Catalog, seen: frozenset[str]) -> str | None:
    if isinstance(query, Union):
        return _undecided_query(query.left, catalog, seen) or _undecided_query(query.right, catalog, seen)
    # To hand the column on decides nothing.
    handed_on = {id(item.expr) for item in query.items if isinstance(item.expr, Column)}
    if any(_names_change(node) and id(node) not in handed_on for node in _own(query)):
        return None
    return next((name for source in _sources(query) if (name := _undecided(source, catalog, seen)) is not None), None)


def _sources(select: Select) -> tuple[Source, ...]:
    first = () if select.source is None else (select.source,)
    return (*first, *(join.source for join in select.joins))


def _own(select: Select) -> Iterator[Node]:
    """What a SELECT says itself, and not the queries that it reads from."""
    below = {id(node) for source in _sources(select) if isinstance(source, DerivedSource) for node in walk(source.query)}
    return (node for node in walk(select) if id(node) not in below)


def _names_change(node: Node) -> bool:
    return isinstance(node, Column) and node.name.lower() == OP.name
