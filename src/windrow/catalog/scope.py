"""Which column a name means at a given place of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windrow.catalog.functions import FunctionKind
from windrow.catalog.relation import ROW_ONLY, Names, RelationKind
from windrow.model.expr import Call, Column, Lambda, Node, Over, children
from windrow.model.query import Select, Union
from windrow.model.system import Origin, SystemColumn, system_column
from windrow.model.types import UNKNOWN, VARIANT, ColumnDef, DataType, Map, Struct


@dataclass(frozen=True)
class Binding:
    """One name that FROM brings in, with its columns."""

    name: str
    columns: tuple[ColumnDef, ...]
    kind: RelationKind = "stream"
    is_known: bool = True
    origins: frozenset[Origin] = ROW_ONLY

    def column(self, name: str) -> ColumnDef | None:
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Alias:
    """A select alias or a lambda's parameter."""

    name: str
    type: DataType
    is_aggregate: bool = False
    # The place in the list of the item that it names; None for a parameter.
    item: int | None = None


@dataclass(frozen=True)
class Resolved:
    type: DataType
    source: Binding | Alias | None = None
    system: SystemColumn | None = None
    # Where it is a field: the column that has it.
    holder: Column | None = None


@dataclass(frozen=True)
class Missing:
    """No such column; ``binding`` is the one that the qualifier named, ``fields`` those of the column that it named."""

    binding: Binding | None = None
    fields: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MissingQualifier:
    qualifier: str


@dataclass(frozen=True)
class Ambiguous:
    bindings: tuple[Binding, ...]


@dataclass(frozen=True)
class OutOfPlace:
    """A system column that the rows at this place do not have."""

    column: SystemColumn


Resolution = Resolved | Missing | MissingQualifier | Ambiguous | OutOfPlace


@dataclass(frozen=True)
class Scope:
    names: Names
    bindings: tuple[Binding, ...] = ()
    # These shadow columns; a later one shadows an earlier one.
    aliases: tuple[Alias, ...] = ()
    # These are asked only where there is no such column (GROUP BY).
    fallback: tuple[Alias, ...] = ()
    outer: Scope | None = None
    # System columns of this query's own emissions.
    emits: frozenset[Origin] = frozenset()
    is_in_aggregate: bool = False
    # Columns of JOIN ... USING, in lower case: they stand for both sides.
    merged: frozenset[str] = frozenset()

    def inside_aggregate(self) -> Scope:
        """Arguments of an aggregate see rows, not emissions, and no alias that is an aggregate itself."""
        return replace(self, is_in_aggregate=True, emits=frozenset())

    def with_parameters(self, names: tuple[str, ...]) -> Scope:
        return replace(self, aliases=(*self.aliases, *(Alias(name, UNKNOWN) for name in names)))

    def binding(self, name: str) -> Binding | None:
        return next((binding for binding in self.bindings if binding.name.lower() == name.lower()), None)

    def resolve(self, column: Column) -> Resolution:
        found = self._resolve_here(column)
        if isinstance(found, Resolved) or self.outer is None:
            return found
        outside = self.outer.resolve(column)
        return outside if isinstance(outside, Resolved) else found

    def _resolve_here(self, column: Column) -> Resolution:
        if column.qualifier is not None:
            return self._resolve_qualified(column.name, column.qualifier)
        alias = self._alias(column.name)
        if alias is not None:
            return Resolved(alias.type, alias)
        if system := system_column(column.name):
            return self._resolve_system(system)
        return self._resolve_plain(column.name)

    def _alias(self, name: str) -> Alias | None:
        usable = (alias for alias in reversed(self.aliases) if not (self.is_in_aggregate and alias.is_aggregate))
        return next((alias for alias in usable if alias.name.lower() == name.lower()), None)

    def _resolve_plain(self, name: str) -> Resolution:
        holders = [(binding, found) for binding in self.bindings if (found := binding.column(name)) is not None]
        if len(holders) > 1 and name.lower() not in self.merged:
            return Ambiguous(tuple(binding for binding, _ in holders))
        if holders:
            return Resolved(holders[0][1].type, holders[0][0])
        if (fallback := next((alias for alias in reversed(self.fallback) if alias.name.lower() == name.lower()), None)) is not None:
            return Resolved(fallback.type, fallback)
        unknown = next((binding for binding in self.bindings if not binding.is_known), None)
        return Missing() if unknown is None else Resolved(UNKNOWN, unknown)

    def _resolve_qualified(self, name: str, qualifier: str) -> Resolution:
        binding = self.binding(qualifier)
        if binding is None:
            return self._resolve_member(name, qualifier)
        if (found := binding.column(name)) is not None:
            return Resolved(found.type, binding)
        if system := system_column(name):
            return Resolved(system.type, binding, system) if _carries(binding, system) else OutOfPlace(system)
        return Missing(binding) if binding.is_known else Resolved(UNKNOWN, binding)

    def _resolve_member(self, name: str, holder: str) -> Resolution:
        """``a.b`` where ``a`` is not a name of FROM: field b of column a."""
        column = Column(holder)
        base = self._resolve_here(column)
        if not isinstance(base, Resolved):
            return MissingQualifier(holder)
        if base.type == UNKNOWN and base.source is None:
            return Resolved(UNKNOWN, holder=column)
        member = member_type(base.type, name)
        if member is not None:
            return Resolved(member, base.source, holder=column)
        return Missing(fields=tuple(field for field, _ in base.type.fields) if isinstance(base.type, Struct) else ())

    def _resolve_system(self, system: SystemColumn) -> Resolution:
        if system.origin in self.emits or not self.bindings or any(_carries(binding, system) for binding in self.bindings):
            return Resolved(system.type, None, system)
        declared = self._resolve_plain(system.name)
        return OutOfPlace(system) if isinstance(declared, Missing) else declared


def _carries(binding: Binding, system: SystemColumn) -> bool:
    return system.origin in binding.origins or not binding.is_known


def member_type(base: DataType, name: str) -> DataType | None:
    """The type of ``base.name``; None where there is no such field."""
    match base:
        case Struct(fields=fields):
            return next((type_ for field_name, type_ in fields if field_name.lower() == name.lower()), None)
        case Map(value=value):
            return value
        case _ if base in (UNKNOWN, VARIANT):
            return base
        case _:
            return None


def walk_scoped(node: Node, scope: Scope) -> Iterator[tuple[Node, Scope]]:
    """A node and everything below it with the scope that holds there. Subqueries are yielded but not entered."""
    yield node, scope
    if isinstance(node, Select | Union):
        return
    if isinstance(node, Lambda):
        scope = scope.with_parameters(node.parameters)
    elif isinstance(node, Over):
        # The call itself runs over rows that are already grouped: its arguments may be aggregates.
        yield node.call, scope
        for child in (*children(node.call), *children(node.spec)):
            yield from walk_scoped(child, scope)
        return
    elif isinstance(node, Call) and is_aggregate(node, scope.names):
        scope = scope.inside_aggregate()
    for child in children(node):
        yield from walk_scoped(child, scope)


def walk_own(node: Node) -> Iterator[Node]:
    """A node and everything below it that belongs to the same query."""
    yield node
    if not isinstance(node, Select | Union):
        for child in children(node):
            yield from walk_own(child)


def is_aggregate(call: Call, names: Names) -> bool:
    known = names.function(call.name)
    return known is not None and known.kind is FunctionKind.AGGREGATE


def has_aggregate(node: Node, names: Names) -> bool:
    """Whether an aggregate of the group stands in it; one that OVER follows is not of the group.

    >>> from windrow.catalog.schema import Catalog
    >>> has_aggregate(Call("upper", (Call("max", (Column("a"),)),)), Catalog())
    True
    """
    if isinstance(node, Select | Union):
        return False
    if isinstance(node, Over):
        return any(has_aggregate(child, names) for child in (*children(node.call), *children(node.spec)))
    if isinstance(node, Call) and is_aggregate(node, names):
        return True
    return any(has_aggregate(child, names) for child in children(node))
