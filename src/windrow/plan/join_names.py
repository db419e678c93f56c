"""Names in a SELECT over a join: every column gets one physical name, ``alias.column`` in lower case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce

from windrow.catalog.scope import Binding
from windrow.catalog.typing import item_name
from windrow.model.expr import Binary, Call, Column, Expr, Field, Lambda, Node, Star, transform
from windrow.model.query import Join, JoinKind, Select, SelectItem
from windrow.model.system import SYSTEM_COLUMNS, system_column
from windrow.model.types import UNKNOWN, ColumnDef, DataType
from windrow.plan.stages import TableRows
from windrow.plan.window_times import WindowTimes


@dataclass(frozen=True)
class JoinInput:
    """One name that FROM brings in: ``stage`` gives its rows, or ``rows`` where it is a query over tables."""

    alias: str
    stage: str
    columns: tuple[ColumnDef, ...]
    is_table: bool
    rows: TableRows | None = None
    # The column that a stream takes its event time from, in lower case.
    time_field: str | None = None
    # Its columns that are bounds of a window.
    window_times: WindowTimes = field(default_factory=dict)

    @staticmethod
    def of(binding: Binding, stage: str, position: int, rows: TableRows | None = None) -> JoinInput:
        return JoinInput(binding.name.lower() or f"from{position}", stage, binding.columns, binding.kind == "table", rows)

    @property
    def physical(self) -> tuple[ColumnDef, ...]:
        """Its columns and system columns under their physical names."""
        own = [ColumnDef(self.name_of(c.name), c.type) for c in self.columns]
        return (*own, *(ColumnDef(self.name_of(c.name), c.type) for c in SYSTEM_COLUMNS))

    def name_of(self, column: str) -> str:
        return f"{self.alias}.{column}".lower()

    def has(self, column: str) -> bool:
        return any(c.name.lower() == column.lower() for c in self.columns)


class JoinNames:
    """Puts physical names in place of what the user wrote. A system column without a qualifier is the joined row's own."""

    def __init__(self, inputs: tuple[JoinInput, ...], joins: tuple[Join, ...]) -> None:
        self._inputs = inputs
        self._types = {column.name: column.type for given in inputs for column in given.physical}
        self._merged: dict[str, Expr] = {}
        self._used: dict[int, list[Expr]] = {}
        for position, join in enumerate(joins, 1):
            # What a name means to the left of a join is known before the join makes one column of both.
            pairs = {name.lower(): (self._left_of(name, position), Column(inputs[position].name_of(name))) for name in join.using}
            self._used[position] = [Binary("=", left, right) for left, right in pairs.values()]
            self._merged.update({name: _merge(join.kind, left, right) for name, (left, right) in pairs.items()})

    def _left_of(self, name: str, position: int) -> Expr:
        """The column of that name among the inputs before a join."""
        if name.lower() in self._merged:
            return self._merged[name.lower()]
        holder = next((given for given in self._inputs[:position] if given.has(name)), self._inputs[0])
        return Column(holder.name_of(name))

    def type_of(self, column: Column) -> DataType:
        return self._types.get(column.name, UNKNOWN)

    def condition(self, join: Join, position: int) -> Expr | None:
        """ON, or what USING stands for, by physical names."""
        if join.on is not None:
            return self.resolve(join.on)
        return all_of(self._used[position])

    def resolve(self, node: Expr, hidden: frozenset[str] = frozenset()) -> Expr:
        """``hidden`` are names that mean something else here: aliases of the list, parameters of a lambda."""
        return self._resolve(node, hidden)  # type: ignore[return-value]  # an expression stays one

    def _resolve(self, node: Node, hidden: frozenset[str]) -> Node:
        def change(found: Node) -> Node | None:
            if isinstance(found, Lambda):
                return replace(found, body=self.resolve(found.body, hidden | {name.lower() for name in found.parameters}))
            if not isinstance(found, Column):
                return None
            if found.qualifier is None and found.name.lower() in hidden:
                return found
            return self._column(found) or found

        return transform(node, change)

    def _column(self, column: Column) -> Expr | None:
        name = column.name.lower()
        if column.qualifier is not None:
            given = next((g for g in self._inputs if g.alias == column.qualifier.lower()), None)
            if given is not None:
                return Column(given.name_of(name), span=column.span)
            base = self._column(Column(column.qualifier, span=column.span))
            return None if base is None else Field(base, column.name, span=column.span)
        if system_column(name) is not None:
            return Column(name, span=column.span)
        if name in self._merged:
            return self._merged[name]
        holders = [given for given in self._inputs if given.has(name)]
        # An input of which no row was seen may have any column.
        holders = holders or [given for given in self._inputs if not given.columns]
        return Column(holders[0].name_of(name), span=column.span) if holders else None

    def select(self, select: Select) -> Select:
        """The SELECT over the joined rows. Its items keep the names that they had."""
        items, aliases = self._items(select)
        everywhere = {
            "group_by": tuple(self.resolve(expr) for expr in select.group_by),
            "lateral_views": tuple(replace(view, call=self.resolve(view.call)) for view in select.lateral_views),
            "where": None if select.where is None else self.resolve(select.where),
            "window": None if select.window is None else self._resolve(select.window, frozenset()),
            "having": None if select.having is None else self.resolve(select.having, aliases),
            "qualify": None if select.qualify is None else self.resolve(select.qualify, aliases),
            "order_by": tuple(self._resolve(key, aliases) for key in select.order_by),
        }
        return replace(select, items=items, source=None, joins=(), **everywhere)  # type: ignore[arg-type]  # transform keeps each kind

    def _items(self, select: Select) -> tuple[tuple[SelectItem, ...], frozenset[str]]:
        items: list[SelectItem] = []
        aliases: frozenset[str] = frozenset()
        for item in select.items:
            if isinstance(item.expr, Star):
                items.extend(self._starred(item.expr))
                continue
            items.append(replace(item, expr=self.resolve(item.expr, aliases), alias=item_name(item)))
            if item.alias is not None:
                aliases |= {item.alias.lower()}
        return tuple(items), aliases

    def _starred(self, star: Star) -> list[SelectItem]:
        """The columns of all inputs in the order of FROM, or of one; a column of USING once."""
        wanted = [g for g in self._inputs if star.qualifier is None or g.alias == star.qualifier.lower()]
        items: dict[str, SelectItem] = {}
        for given in wanted:
            for column in given.columns:
                is_merged = star.qualifier is None and column.name.lower() in self._merged
                expr = self._merged[column.name.lower()] if is_merged else Column(given.name_of(column.name))
                key = column.name.lower() if is_merged else given.name_of(column.name)
                items.setdefault(key, SelectItem(expr, column.name))
        return list(items.values())


def _merge(kind: JoinKind, left: Expr, right: Expr) -> Expr:
    """A column of USING stands for both sides: the one that is always there, or whichever is there."""
    if kind is JoinKind.FULL:
        return Call("coalesce", (left, right))
    return right if kind is JoinKind.RIGHT else left


def all_of(parts: Iterable[Expr]) -> Expr | None:
    """The condition that all of them hold; None where there is none.

    >>> all_of([Column("a"), Column("b")])
    Binary(op='AND', left=Column(name='a', qualifier=None), right=Column(name='b', qualifier=None))
    """
    listed = list(parts)
    return reduce(lambda a, b: Binary("AND", a, b), listed) if listed else None
