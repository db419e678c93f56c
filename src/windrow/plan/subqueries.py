"""Subqueries over tables: taken out of the expressions of a SELECT, and answered in columns of their own.

A subquery becomes a question: the tables it reads, and the expressions of the row at hand that it is told. What the row tells is an
ordinary expression, so names, aliases, group keys and aggregates in it are resolved as everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from windrow.catalog.clauses import change_clauses
from windrow.catalog.relation import Names
from windrow.catalog.scope import Resolved, Scope
from windrow.catalog.typing import SelectScopes, output_columns, select_scopes
from windrow.model.expr import (
    Asked,
    Column,
    Exists,
    Expr,
    InQuery,
    Lambda,
    Literal,
    Node,
    Question,
    ScalarQuery,
    Slot,
    Star,
    transform,
    walk,
)
from windrow.model.query import DerivedSource, Join, NamedSource, Query, Select, SelectItem, Source, Union
from windrow.model.system import system_column
from windrow.plan.scoped import change_select
from windrow.plan.selects import Selected
from windrow.plan.stages import Aggregate, FilterProject, OverAggregate, SubqueryLookup, TableRows, TableSubquery, WindowRows


@dataclass(frozen=True)
class TableQuery:
    """A query over tables, with the names it was written under."""

    query: Query
    names: Names


def spell_out(given: TableQuery, common: Mapping[str, TableQuery]) -> TableRows:
    """A query over tables as Spark can run it by itself. ``common`` are the common tables in its reach, in lower case."""
    query = _Told(None, common).query(given.query, given.names, None)
    columns = output_columns(given.query, given.names)
    assert columns is not None, "a query whose columns cannot be told passed the checks"
    return TableRows(query, tuple(column.name for column in columns), _tables(query))


def lift_subqueries(select: Select, names: Names, common: Mapping[str, TableQuery]) -> Select:
    """The SELECT with a question in place of each subquery. ``common`` are the common tables over tables, in lower case."""
    if not any(isinstance(node, InQuery | Exists | ScalarQuery) for node in walk(select)):
        return select
    return change_select(select, names, lambda node, scope: _lift(node, scope, common))


def _lift(node: Node, scope: Scope, common: Mapping[str, TableQuery]) -> Asked | None:
    if not isinstance(node, InQuery | Exists | ScalarQuery):
        return None
    told = _Told(scope, common)
    question = replace(node, query=told.query(node.query, scope.names, scope))
    if isinstance(question, InQuery):
        operand = transform(question.operand, lambda found: _lift(found, scope, common))
        question = replace(question, operand=told.parameter(operand))
    return Asked(Question(question), tuple(told.args), span=node.span)


@dataclass
class _Told:
    """Goes through a query over tables and puts a parameter in place of everything that belongs to the row around it, if there is one."""

    row: Scope | None
    common: Mapping[str, TableQuery]
    args: list[Expr] = field(default_factory=list)

    def parameter(self, expr: Expr) -> Slot:
        if expr not in self.args:
            self.args.append(expr)
        return Slot(f"_p{self.args.index(expr)}")

    def query(self, query: Query, names: Names, outer: Scope | None) -> Query:
        inner = replace(self, common={**self.common, **{t.name.lower(): TableQuery(t.query, names) for t in query.ctes}})
        if isinstance(query, Union):
            return replace(query, left=inner.query(query.left, names, outer), right=inner.query(query.right, names, outer), ctes=())
        return inner._select(query, names, outer)

    def _select(self, select: Select, names: Names, outer: Scope | None) -> Select:
        scopes = select_scopes(select, names, outer)
        told = replace(
            select,
            items=tuple(each for item, scope in zip(select.items, scopes.items, strict=True) for each in self._item(item, scope)),
            source=None if select.source is None else self._source(select.source, select, scopes, outer),
            joins=tuple(self._join(join, select, scopes, outer) for join in select.joins),
            lateral_views=tuple(self._expr(view, scopes.rows) for view in select.lateral_views),
            ctes=(),
        )
        return change_clauses(told, scopes, self._expr)

    def _item(self, item: SelectItem, scope: Scope) -> list[SelectItem]:
        """A star is spelled out: a table has system columns beside those that it means."""
        if not isinstance(item.expr, Star):
            return [replace(item, expr=self._expr(item.expr, scope))]
        wanted = item.expr.qualifier
        found = [binding for binding in scope.bindings if wanted is None or binding.name.lower() == wanted.lower()]
        merged = frozenset() if wanted is not None else scope.merged
        listed: dict[str, SelectItem] = {}
        for binding in found:
            for column in binding.columns:
                is_merged = column.name.lower() in merged
                # A column of USING stands for both sides, once, and Spark knows which.
                key = column.name.lower() if is_merged else f"{binding.name}.{column.name}"
                listed.setdefault(key, SelectItem(Column(column.name, None if is_merged else binding.name or None)))
        return list(listed.values()) or [SelectItem(Literal(1))]

    def _join(self, join: Join, select: Select, scopes: SelectScopes, outer: Scope | None) -> Join:
        on = None if join.on is None else self._expr(join.on, scopes.rows)
        return replace(join, source=self._source(join.source, select, scopes, outer), on=on)

    def _source(self, source: Source, select: Select, scopes: SelectScopes, outer: Scope | None) -> Source:
        if isinstance(source, DerivedSource):
            return replace(source, query=self.query(source.query, scopes.names, outer))
        alias = source.alias or source.name
        common = self.common.get(source.name.lower())
        if common is not None:
            rest = {name: each for name, each in self.common.items() if name != source.name.lower()}
            return DerivedSource(replace(self, common=rest).query(common.query, common.names, None), alias)
        relation = scopes.names.relation(source.name)
        if relation is None or not relation.columns:
            return DerivedSource(_empty(select, alias), alias)
        return NamedSource(relation.name, alias)

    def _expr(self, node: Any, scope: Scope) -> Any:
        def change(found: Node) -> Node | None:
            match found:
                case Column():
                    return self.parameter(found) if self._is_of_row(found, scope) else None
                case Select() | Union():
                    return self.query(found, scope.names, scope)
                case Lambda(parameters=parameters, body=body):
                    return replace(found, body=self._expr(body, scope.with_parameters(parameters)))
                case _:
                    return None

        return transform(node, change)

    def _is_of_row(self, column: Column, scope: Scope) -> bool:
        """Whether only the row around the subquery has it. A bare system column is the row's: tables are known without their time."""
        if self.row is None:
            return False
        if column.qualifier is None and system_column(column.name) is not None:
            return isinstance(self.row.resolve(column), Resolved)
        current: Scope | None = scope
        while current is not None and current is not self.row:
            if isinstance(replace(current, outer=None).resolve(column), Resolved):
                return False
            current = current.outer
        return True


def _empty(select: Select, alias: str) -> Select:
    """Stands for a table of which no row and no column was ever seen."""
    selected = {node.name.lower() for node in walk(select) if isinstance(node, Column) and node.qualifier in (None, alias)}
    return Select(tuple(SelectItem(Literal(None), name) for name in sorted(selected)) or (SelectItem(Literal(1)),), where=Literal(False))


# The fields of a stage that are about what it makes of rows, and not about the rows it is given.
_LATER: dict[type[Selected], tuple[str, ...]] = {
    FilterProject: (),
    OverAggregate: ("qualify", "output"),
    Aggregate: ("having", "output"),
}


def answer_first(stage: Selected, wait: int) -> tuple[SubqueryLookup | None, Selected]:
    """The stage that answers what is asked about rows, and the stage that reads it, which asks about what it makes of them itself."""
    after, before = _Subqueries("_q"), _Subqueries("_r")
    own: dict[str, Any] = {}
    for spec in fields(stage):
        value = getattr(stage, spec.name)
        own[spec.name] = (after if spec.name in _LATER[type(stage)] else before).take(value)
    if not before.found and not after.found:
        return None, stage
    if after.found:
        own.update(subqueries=after.subqueries(), wait=wait)
    if not before.found:
        return None, replace(stage, **own)
    assert not isinstance(stage, WindowRows), "it has no expressions"
    name = f"{stage.name}/answers"
    reason = "the tables are at hand: every subquery is answered as the row comes"
    answer = SubqueryLookup(name, stage.input, before.subqueries(), wait, stage.is_strict, reason)
    return answer, replace(stage, **{**own, "input": name})


@dataclass
class _Subqueries:
    """Collects what is asked and puts slots in its place; what is asked twice is answered once."""

    prefix: str
    found: dict[Asked, Slot] = field(default_factory=dict)

    def take(self, value: Any) -> Any:
        if isinstance(value, Node):
            return transform(value, self._change)
        if isinstance(value, tuple):
            return tuple(self.take(each) for each in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{spec.name: self.take(getattr(value, spec.name)) for spec in fields(value)})
        return value

    def _change(self, node: Node) -> Node | None:
        if not isinstance(node, Asked):
            return None
        # What it is told may hold a question too, which is then answered first.
        told = replace(node, args=self.take(node.args))
        return self.found.setdefault(told, Slot(f"{self.prefix}{len(self.found)}"))

    def subqueries(self) -> tuple[TableSubquery, ...]:
        return tuple(TableSubquery(slot.name, asked, _tables(asked.question.subquery)) for asked, slot in self.found.items())


def _tables(node: Node) -> tuple[str, ...]:
    named = (found.name for found in walk(node) if isinstance(found, NamedSource))
    return tuple(dict.fromkeys(named))
