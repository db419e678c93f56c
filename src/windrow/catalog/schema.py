"""The streams and tables of a script, whatever order they were written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from windrow.catalog.functions import Function, function
from windrow.catalog.inserting import inserts_of
from windrow.catalog.lifetimes import lifetimes
from windrow.catalog.names import closest
from windrow.catalog.python_functions import FunctionFault, describe_function, find_fault
from windrow.catalog.relation import Names, Relation, RelationKind
from windrow.catalog.typing import binding_of, names_under, query_relation
from windrow.model.query import DerivedSource, Query, Select, Union
from windrow.model.statement import (
    CreateFunction,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Explain,
    InsertInto,
    Script,
    SelectStatement,
    Statement,
)
from windrow.model.window import DeadLetterLate

__all__ = ["Catalog", "Relation", "build_catalog"]


@dataclass(frozen=True)
class Catalog:
    """Everything a script can name. Names match case-insensitively."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    own_functions: Mapping[str, Function] = field(default_factory=dict)
    # Second and later definitions of a name that is taken.
    duplicates: tuple[tuple[str, Statement], ...] = ()
    # Functions of the user's own that cannot be called; empty where nobody looked.
    function_faults: tuple[FunctionFault, ...] = ()
    # Streams and tables that INSERT INTO fills, in lower case.
    targets: frozenset[str] = frozenset()
    # Names that are defined by way of themselves, each with the statement it starts from.
    cycles: tuple[tuple[str, ...], ...] = ()

    def relation(self, name: str) -> Relation | None:
        return self.relations.get(name.lower())

    def function(self, name: str) -> Function | None:
        return self.own_functions.get(name.lower()) or function(name)

    def closest_relations(self, name: str) -> list[str]:
        return closest(name, [relation.name for relation in self.relations.values()], limit=3)


def build_catalog(script: Script, extra: Mapping[str, Relation] | None = None, folder: Path | None = None) -> Catalog:
    """Every stream, table and function of a script; ``extra`` holds relations that the caller inferred.

    A definition in the script wins over an inferred one of the same name. With ``folder``, where the script is, Python functions are
    looked for, there and on Python's path.
    """
    builder = _Builder(replace(script, statements=lifetimes(script).current), extra or {})
    relations = {name: found for name in builder.order if (found := builder.relation(name)) is not None}
    created = (statement for statement in script.statements if isinstance(statement, CreateFunction))
    faults = [] if folder is None else [find_fault(statement, folder) for statement in created]
    return Catalog(
        relations,
        builder.functions,
        tuple(builder.duplicates),
        tuple(fault for fault in faults if fault is not None),
        frozenset(builder.inserts),
        tuple(builder.cycles),
    )


@dataclass(frozen=True)
class _LateRows:
    """A stream that LATE_DATA_STRATEGY DEAD_LETTER INTO makes out of a window's input."""

    name: str
    select: Select
    # The queries around it, outermost first: their common tables are in reach.
    around: tuple[Query, ...]
    statement: Statement


_Definition = CreateStream | CreateStreamAs | CreateTable | CreateTableAs | _LateRows | Relation


class _Builder:
    """Resolves definitions on demand, so that each is worked out after what it reads."""

    def __init__(self, script: Script, extra: Mapping[str, Relation]) -> None:
        self.duplicates: list[tuple[str, Statement]] = []
        self.cycles: list[tuple[str, ...]] = []
        self.functions: dict[str, Function] = {}
        self._definitions: dict[str, _Definition] = {}
        self._done: dict[str, Relation] = {}
        self._open: list[str] = []
        self.inserts: dict[str, list[InsertInto]] = {}
        for insert in inserts_of(script.statements):
            self.inserts.setdefault(insert.name.lower(), []).append(insert)
        for statement in script.statements:
            self._define(statement)
        for name, relation in extra.items():
            self._definitions.setdefault(name.lower(), relation)
        self.order = tuple(self._definitions)

    def _define(self, statement: Statement) -> None:
        match statement:
            case CreateStream() | CreateStreamAs() | CreateTable() | CreateTableAs():
                self._add(statement.name, statement, statement)
            case CreateFunction():
                self.functions[statement.name.lower()] = describe_function(statement)
            case _:
                pass
        for late in _late_streams(statement):
            known = self._definitions.get(late.name.lower())
            # Several windows over one source may share a stream of late rows.
            if not (isinstance(known, _LateRows) and known.select.source == late.select.source):
                self._add(late.name, late, statement)

    def _add(self, name: str, definition: _Definition, statement: Statement) -> None:
        if name.lower() in self._definitions:
            self.duplicates.append((name, statement))
        else:
            self._definitions[name.lower()] = definition

    def function(self, name: str) -> Function | None:
        return self.functions.get(name.lower()) or function(name)

    def relation(self, name: str) -> Relation | None:
        key = name.lower()
        if key in self._done:
            return self._done[key]
        definition = self._definitions.get(key)
        if definition is None:
            return None
        if key in self._open:
            self._note_cycle(key)
            return Relation(name, "stream", (), is_known=False)
        self._open.append(key)
        try:
            found = self._with_inserts(self._resolve(definition))
        except RecursionError:
            # Nested beyond what Python can walk: the check says so, and whoever reads it is not judged.
            found = Relation(name, "stream", (), is_known=False)
        finally:
            self._open.pop()
        if any(key in cycle for cycle in self.cycles):
            found = Relation(found.name, found.kind, (), found.defined_by, is_known=False)
        self._done[key] = found
        return found

    def _note_cycle(self, key: str) -> None:
        cycle = tuple(self._open[self._open.index(key) :])
        if not any(set(cycle) == set(known) for known in self.cycles):
            self.cycles.append(cycle)

    def _resolve(self, definition: _Definition) -> Relation:
        match definition:
            case Relation():
                return definition
            case CreateStream(name=name, columns=columns):
                return Relation(name, "stream", columns, definition)
            case CreateTable(name=name, columns=columns):
                return Relation(name, "table", columns, definition)
            case CreateStreamAs(name=name, query=query) | CreateTableAs(name=name, query=query):
                found = query_relation(name, query, self)
                kind: RelationKind = "table" if isinstance(definition, CreateTableAs) else "stream"
                return Relation(name, kind, found.columns, definition, found.is_known, found.origins)
            case _LateRows():
                return self._late_relation(definition)

    def _with_inserts(self, found: Relation) -> Relation:
        """What is inserted is worked out while the target is open, so that a circle through it is noticed."""
        fed_by = [query_relation(found.name, insert.query, self) for insert in self.inserts.get(found.name.lower(), ())]
        if not fed_by:
            return found
        own = [] if isinstance(found.defined_by, CreateStream) else [found.origins]
        return replace(found, origins=frozenset.intersection(*own, *(each.origins for each in fed_by)))

    def _late_relation(self, late: _LateRows) -> Relation:
        if late.select.source is None or late.select.joins:
            return Relation(late.name, "stream", (), late.statement, is_known=False)
        names: Names = self
        for query in (*late.around, late.select):
            names = names_under(query, names)
        binding = binding_of(late.select.source, names)
        return Relation(late.name, "stream", binding.columns, late.statement, binding.is_known, binding.origins)


def _late_streams(statement: Statement) -> Iterator[_LateRows]:
    match statement:
        case CreateStreamAs(query=query) | CreateTableAs(query=query) | InsertInto(query=query) | SelectStatement(query=query):
            yield from _late_in(query, (), statement)
        case Explain(statement=explained):
            yield from _late_streams(explained)
        case _:
            return


def _late_in(query: Query, around: tuple[Query, ...], statement: Statement) -> Iterator[_LateRows]:
    inner = (*around, query)
    for table in query.ctes:
        yield from _late_in(table.query, inner, statement)
    if isinstance(query, Union):
        yield from _late_in(query.left, inner, statement)
        yield from _late_in(query.right, inner, statement)
        return
    sources = [query.source, *(join.source for join in query.joins)]
    for source in sources:
        if isinstance(source, DerivedSource):
            yield from _late_in(source.query, inner, statement)
    if query.window is not None and isinstance(query.window.late, DeadLetterLate) and query.window.late.into:
        yield _LateRows(query.window.late.into, query, around, statement)
