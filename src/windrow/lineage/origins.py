"""What an expression takes its value from: the columns in it, each with how it gets there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.aggregates import find_aggregate
from windrow.lineage.graph import ColumnRef, EdgeKind
from windrow.model.expr import Call, Case, Column, Expr, Field, Lambda, Node, Over, Slot, SortKey, children


class Origin(NamedTuple):
    column: ColumnRef
    kind: EdgeKind


Origins = frozenset[Origin]
NOTHING: Origins = frozenset()

_STRENGTH = {EdgeKind.IDENTITY: 0, EdgeKind.TRANSFORMATION: 1, EdgeKind.AGGREGATION: 2}
# The first argument chooses, the others are chosen from.
_CHOOSING = frozenset({"if", "iff", "nvl2"})


def through(origins: Iterable[Origin], kind: EdgeKind) -> Origins:
    """Origins of what is made of a value in one more way: once a column only decides, it does so from there on."""
    return frozenset(Origin(column, _combined(inner, kind)) for column, inner in origins)


def _combined(inner: EdgeKind, outer: EdgeKind) -> EdgeKind:
    if not inner.is_direct:
        return inner
    return max(inner, outer, key=_STRENGTH.__getitem__) if outer.is_direct else outer


@dataclass(frozen=True)
class Columns:
    """What names stand for in one place: columns by name in lower case, and the planner's slots.

    ``anything`` is a dataset of which the columns are not known: any other name is one of its.
    """

    named: Mapping[str, Origins]
    slots: Mapping[str, Origins] = field(default_factory=dict)
    anything: ColumnRef | None = None

    def of(self, name: str) -> Origins | None:
        found = self.named.get(name.lower())
        if found is None and self.anything is not None:
            return frozenset({Origin(ColumnRef(self.anything.dataset, name), EdgeKind.IDENTITY)})
        return found


def origins_of(node: Node | None, columns: Columns) -> Origins:
    """Every column that the value of an expression depends on."""
    match node:
        case None:
            return NOTHING
        case Column(name=name, qualifier=qualifier):
            return columns.of(name) or (NOTHING if qualifier is None else columns.of(qualifier) or NOTHING)
        case Field(base=Column(qualifier=None) as base, name=name):
            # What stands before the dot may be a name of the source.
            found = columns.of(base.name)
            return through(found, EdgeKind.TRANSFORMATION) if found is not None else columns.of(name) or NOTHING
        case Slot(name=name):
            found = columns.slots.get(name)
            return found if found is not None else columns.of(name) or NOTHING
        case Lambda(parameters=parameters, body=body):
            hidden = {name.lower() for name in parameters}
            rest = Columns({name: found for name, found in columns.named.items() if name not in hidden}, columns.slots)
            return through(origins_of(body, rest), EdgeKind.TRANSFORMATION)
        case Case():
            return _of_case(node, columns)
        case Call() if find_aggregate(node) is not None:
            return of_aggregate(node, columns)
        case Call(name=name, args=(condition, *chosen)) if name.lower() in _CHOOSING:
            deciding = through(origins_of(condition, columns), EdgeKind.CONDITIONAL)
            return deciding | through(_all(chosen, columns), EdgeKind.TRANSFORMATION)
        case Over():
            return of_over(node, columns)
        case _:
            return through(_all(children(node), columns), EdgeKind.TRANSFORMATION)


def deciding(nodes: Iterable[Node | None], columns: Columns, kind: EdgeKind) -> Origins:
    """Columns that decide about rows through these expressions."""
    return through(_all(nodes, columns), kind)


def of_aggregate(call: Call, columns: Columns) -> Origins:
    values = through(_all(call.args, columns), EdgeKind.AGGREGATION)
    chosen = deciding((call.where,), columns, EdgeKind.FILTER)
    return values | chosen | deciding(call.within_group, columns, EdgeKind.SORT)


def of_over(over: Over, columns: Columns) -> Origins:
    """A call that looks at other rows of its partition."""
    spec = over.spec
    return (
        of_aggregate(over.call, columns)
        | deciding(spec.partition_by, columns, EdgeKind.GROUP_BY)
        | deciding(spec.order_by, columns, EdgeKind.SORT)
    )


def _of_case(case: Case, columns: Columns) -> Origins:
    conditions = [case.operand, *(condition for condition, _ in case.branches)]
    values = [*(value for _, value in case.branches), case.otherwise]
    return deciding(conditions, columns, EdgeKind.CONDITIONAL) | deciding(values, columns, EdgeKind.TRANSFORMATION)


def _all(nodes: Iterable[Node | Expr | SortKey | None], columns: Columns) -> Origins:
    return frozenset(origin for node in nodes for origin in origins_of(node, columns))
