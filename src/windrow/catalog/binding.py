"""Names bound once: a SELECT in which columns stand under the names that its rows give them, and aliases for what they mean.

``Scope`` tells what a name means, and the checks complain of what it does not find. ``bind_select`` puts what it found in place of every
name, so nothing after it asks again which alias, which side of a join or which field was meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Protocol, TypeVar

from windrow.catalog.clauses import change_clauses
from windrow.catalog.relation import Names
from windrow.catalog.scope import Alias, Ambiguous, Binding, Missing, OutOfPlace, Resolved, Scope, is_aggregate
from windrow.catalog.typing import SelectScopes, item_name, select_scopes
from windrow.model.expr import Binary, Call, Column, Expr, Field, Lambda, Node, Over, Star, transform
from windrow.model.query import Join, JoinKind, NamedSource, Select, SelectItem, Source

N = TypeVar("N", bound=Node)


class Input(Protocol):
    """One name of FROM, as the rows that a SELECT reads have it."""

    def name_of(self, column: str) -> str:
        """What those rows call a column of it."""
        ...


class _OnlyInput:
    """Where nothing is joined, rows have the names of their columns in lower case: equal columns are equal however they were written."""

    def name_of(self, column: str) -> str:
        return column.lower()


@dataclass(frozen=True)
class _NamedInput:
    """Where nothing is to run: a column of it by the name that FROM gives it."""

    name: str

    def name_of(self, column: str) -> str:
        return f"{self.name}.{column}".lower()


def bind_select(select: Select, names: Names, inputs: tuple[Input, ...] = ()) -> Select:
    """``inputs`` are those of a FROM with joins, in order, and those of its lateral views after them.

    Every item has the name it puts out as its alias; ON holds what USING stands for; a star over joined inputs is spelled out.

    >>> from windrow.catalog.schema import Catalog
    >>> items = SelectItem(Binary("+", Column("A"), Column("b")), "C"), SelectItem(Column("c"))
    >>> [item.expr for item in bind_select(Select(items), Catalog()).items] == [Binary("+", Column("a"), Column("b"))] * 2
    True
    """
    scopes = select_scopes(select, names)
    return _Binder(scopes.rows.bindings, inputs, tuple(_using(select, scopes.rows, inputs))).select(select, scopes)


def meaning(expr: Expr, select: Select, rows: Scope) -> Expr:
    """What an expression over the rows of a SELECT means: equal for two that differ in how they are written only."""
    inputs = tuple(_NamedInput(binding.name) for binding in rows.bindings) if select.joins else ()
    return same_form(_Binder(rows.bindings, inputs, tuple(_using(select, rows, inputs))).bind(expr, rows))


def same_form(expr: Expr) -> Expr:
    """A bound expression without what it does not matter how it is spelled: the case of functions and of fields.

    >>> same_form(Call("UPPER", (Column("k"),))) == same_form(Call("upper", (Column("k"),)))
    True
    """

    def change(node: Node) -> Node | None:
        if isinstance(node, Call | Field) and node.name != node.name.lower():
            return transform(replace(node, name=node.name.lower()), change)
        return None

    return transform(expr, change)


@dataclass(frozen=True)
class _Using:
    """What the USING of a join compares, and what the columns that were compared so far stand for after it, in lower case."""

    on: Expr | None
    columns: dict[str, Expr]


def _using(select: Select, rows: Scope, inputs: tuple[Input, ...]) -> Iterable[_Using]:
    columns: dict[str, Expr] = {}
    for position, join in enumerate(select.joins, 1):
        # What a name means to the left of a join is known before the join makes one column of both.
        pairs = {name.lower(): (columns.get(name.lower()) or _left_of(name, position, rows, inputs), name) for name in join.using}
        sides = {name: (left, Column(inputs[position].name_of(written))) for name, (left, written) in pairs.items()}
        columns = {**columns, **{name: _merge(join.kind, *pair) for name, pair in sides.items()}}
        yield _Using(all_of(Binary("=", *pair) for pair in sides.values()), columns)


def _left_of(name: str, position: int, rows: Scope, inputs: tuple[Input, ...]) -> Expr:
    """The column of that name among the inputs before a join."""
    holder = next((place for place, each in enumerate(rows.bindings[:position]) if each.column(name) is not None), 0)
    return Column(inputs[holder].name_of(name))


def _merge(kind: JoinKind, left: Expr, right: Expr) -> Expr:
    """A column of USING stands for both sides: the one that is always there, or whichever is there."""
    if kind is JoinKind.FULL:
        return Call("coalesce", (left, right))
    return right if kind is JoinKind.RIGHT else left


@dataclass
class _Binder:
    bindings: tuple[Binding, ...]
    inputs: tuple[Input, ...]
    # One for each join.
    using: tuple[_Using, ...]
    # What each alias of the list means.
    aliased: dict[int, Expr] = field(default_factory=dict)
    # Whether columns keep their spelling: saved plans have what generators take as it was written.
    keeps_spelling: bool = False

    def select(self, select: Select, scopes: SelectScopes) -> Select:
        rows = scopes.rows
        generators = replace(self, keeps_spelling=not self.inputs)
        items = tuple(
            each for place in enumerate(select.items) for each in self._item(*place, scopes, has_views=bool(select.lateral_views))
        )
        bound = replace(
            select,
            items=items,
            source=None if select.source is None else self._source(select.source, rows),
            joins=tuple(self._join(join, position, rows) for position, join in enumerate(select.joins)),
            lateral_views=tuple(replace(view, call=generators.bind(view.call, rows)) for view in select.lateral_views),
        )
        # Aliases are known now.
        return change_clauses(bound, scopes, self.bind)

    def _item(self, position: int, item: SelectItem, scopes: SelectScopes, *, has_views: bool) -> Iterable[SelectItem]:
        # Where views stand beside t, t.* is not all that there is.
        if isinstance(item.expr, Star):
            return self._starred(item.expr) if self.inputs or (has_views and item.expr.qualifier is not None) else (item,)
        expr = self.bind(item.expr, scopes.items[position])
        self.aliased[position] = expr
        return (replace(item, expr=expr, alias=item_name(item)),)

    def _starred(self, star: Star) -> Iterable[SelectItem]:
        """The columns of all inputs in the order of FROM, or of one; a column of USING once."""
        items: dict[str, SelectItem] = {}
        merged = {} if star.qualifier is not None else self._merged
        for position, binding in enumerate(self.bindings):
            if star.qualifier is not None and binding.name.lower() != star.qualifier.lower():
                continue
            for column in binding.columns:
                one = merged.get(column.name.lower())
                own = Column(self._input(position).name_of(column.name))
                items.setdefault(own.name if one is None else column.name.lower(), SelectItem(one or own, column.name))
        return items.values()

    def _source(self, source: Source, rows: Scope) -> Source:
        if not isinstance(source, NamedSource) or source.as_of is None:
            return source
        return replace(source, as_of=self.bind(source.as_of, rows))

    @property
    def _merged(self) -> dict[str, Expr]:
        return self.using[-1].columns if self.using else {}

    def _join(self, join: Join, position: int, rows: Scope) -> Join:
        """ON sees the inputs up to its own join, and what was made one column before it."""
        source = self._source(join.source, rows)
        if join.on is None:
            return replace(join, source=source, on=self.using[position].on)
        scope = replace(rows, bindings=rows.bindings[: position + 2])
        return replace(join, source=source, on=replace(self, using=self.using[:position]).bind(join.on, scope))

    def bind(self, node: N, scope: Scope) -> N:
        """The same with what names mean at this place."""

        def change(found: Node) -> Node | None:
            match found:
                case Column():
                    return self._column(found, scope)
                case Lambda(parameters=parameters, body=body):
                    return replace(found, body=self.bind(body, scope.with_parameters(parameters)))
                case Over(call=call, spec=spec):
                    # The call itself runs over rows that are already grouped: what it takes may be an aggregate.
                    return replace(found, call=self._below(call, scope), spec=self.bind(spec, scope))
                case Call() if is_aggregate(found, scope.names):
                    return self._below(found, scope.inside_aggregate())
                case _:
                    return None

        return transform(node, change)

    def _below(self, call: Call, scope: Scope) -> Call:
        return replace(
            call,
            args=tuple(self.bind(arg, scope) for arg in call.args),
            where=None if call.where is None else self.bind(call.where, scope),
            within_group=tuple(self.bind(key, scope) for key in call.within_group),
        )

    def _column(self, column: Column, scope: Scope) -> Expr:
        match scope.resolve(column):
            case Resolved(holder=Column() as holder):
                if self.keeps_spelling:
                    return column
                return Field(self._column(holder, scope), column.name, span=column.span)
            case Resolved(source=Alias(item=int(item))):
                return self.aliased[item]
            case Resolved(source=Binding() as binding):
                return self._of_input(column, binding)
            case Ambiguous(bindings=(binding, *_)) | Missing(binding=Binding() as binding):
                return self._of_input(column, binding)
            case Missing() | OutOfPlace() if column.qualifier is not None and (known := scope.binding(column.qualifier)) is not None:
                return self._of_input(column, known)
            case _ if column.qualifier is not None:
                return Field(Column(column.qualifier.lower(), span=column.span), column.name, span=column.span)
            case _:
                # A system column of the rows themselves, or a lambda's parameter.
                return Column(column.name.lower(), span=column.span)

    def _of_input(self, column: Column, binding: Binding) -> Expr:
        if column.qualifier is None and column.name.lower() in self._merged:
            return self._merged[column.name.lower()]
        if self.keeps_spelling:
            return Column(column.name, span=column.span)
        position = next((place for place, each in enumerate(self.bindings) if each is binding), None)
        if position is None:
            # It belongs to the query around this one.
            return Column(column.name.lower(), binding.name.lower() or None, span=column.span)
        return Column(self._input(position).name_of(column.name), span=column.span)

    def _input(self, position: int) -> Input:
        return self.inputs[position] if self.inputs else _OnlyInput()


def all_of(parts: Iterable[Expr]) -> Expr | None:
    """The condition that all of them hold; None where there is none.

    >>> all_of([Column("a"), Column("b")])
    Binary(op='AND', left=Column(name='a', qualifier=None), right=Column(name='b', qualifier=None))
    """
    listed = list(parts)
    return reduce(lambda a, b: Binary("AND", a, b), listed) if listed else None
