"""Every WITH list of a script, with the keys that are valid in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.catalog.inserting import explained, inserts_of
from windrow.catalog.options import (
    BARE_SINK,
    options_for_query,
    options_for_sink,
    options_for_source,
    options_for_table,
    options_for_target,
)
from windrow.check.blocks import Context, query_of
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionSpec
from windrow.model.options import Option
from windrow.model.place import Span
from windrow.model.query import Select
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, InsertInto, Statement


@dataclass(frozen=True)
class OptionList:
    """``is_source`` and ``is_sink`` say which side of its connector it uses."""

    owner: str
    span: Span | None
    entries: tuple[Option, ...]
    specs: tuple[OptionSpec, ...]
    is_source: bool = False
    is_sink: bool = False
    # A source that is loaded whole, instead of read without end.
    is_table: bool = False
    # False: the connector is unknown, so nobody can tell which keys it has.
    is_complete: bool = True

    def find(self, key: str) -> Option | None:
        return next((entry for entry in self.entries if entry.key.lower() == key), None)

    def spec(self, key: str) -> OptionSpec | None:
        """What is known about a key; one that ends in ``.*`` stands for all with that prefix."""
        wanted = key.lower()
        exact = next((spec for spec in self.specs if spec.key.lower() == wanted), None)
        prefixed = (spec for spec in self.specs if spec.key.endswith(".*") and wanted.startswith(spec.key[:-1].lower()))
        return exact or next(prefixed, None)


def option_lists(context: Context) -> Iterator[OptionList]:
    targets = {insert.name.lower() for insert in inserts_of(tuple(map(explained, context.script.statements)))}
    for statement in map(explained, context.script.statements):
        match statement:
            case CreateStream() | CreateTable():
                yield _declared(statement, is_target=isinstance(statement, CreateStream) and statement.name.lower() in targets)
            case _ if query_of(statement) is not None:
                yield _written(statement)
            case _:
                pass
    for block in context.blocks:
        if block.select.options and not _is_top(block.select, block.statement):
            yield OptionList("a query", block.select.span, block.select.options.entries, options_for_query())


def _is_top(select: Select, statement: Statement) -> bool:
    return query_of(statement) is select


def _declared(statement: CreateStream | CreateTable, *, is_target: bool) -> OptionList:
    """A stream that INSERT INTO fills is written by the job and never read from outside; without a connector it only feeds others."""
    connector = statement.options.get("connector")
    reading = options_for_table if isinstance(statement, CreateTable) else options_for_source
    specs = options_for_target(connector) if is_target else reading(connector)
    is_complete = connector is None or connector.lower() in CONNECTORS
    owner = f'"{statement.name}"'
    is_table = isinstance(statement, CreateTable)
    return OptionList(owner, statement.span, statement.options.entries, specs, not is_target, is_target, is_table, is_complete)


def _written(statement: Statement) -> OptionList:
    query = query_of(statement)
    entries = query.options.entries if isinstance(query, Select) else ()
    if isinstance(statement, CreateStreamAs | CreateTableAs):
        # WITH may stand at the end of the query or of the statement: the text is the same.
        entries = (*statement.options.entries, *(entry for entry in entries if entry not in statement.options.entries))
    connector = next((entry.value for entry in entries if entry.key.lower() == "connector"), None)
    is_named = isinstance(statement, CreateStreamAs | CreateTableAs | InsertInto)
    owner = f'"{getattr(statement, "name", "")}"' if is_named else "a query"
    specs = options_for_sink(connector or (None if is_named else BARE_SINK))
    is_complete = connector is None or connector.lower() in CONNECTORS
    return OptionList(owner, statement.span, entries, specs, False, connector is not None, is_complete=is_complete)
