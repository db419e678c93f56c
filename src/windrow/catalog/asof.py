"""The condition of ASOF JOIN taken apart: equalities, the comparison of the two times, and what filters the right side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from windrow.catalog.relation import Relation
from windrow.catalog.time_bounds import Equality, equality_of
from windrow.model.expr import Binary, Expr
from windrow.model.statement import CreateStream

# Whose columns an expression is made of: "left", "right", "both", or "none".
SideOfExpr = Callable[[Expr], str]

_EARLIER = {">=": False, ">": True}
_MIRRORED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


@dataclass(frozen=True)
class TimeOrder:
    """``left >= right``, or ``left > right`` where it is exclusive: the right row is the earlier one."""

    left: Expr
    right: Expr
    is_exclusive: bool


@dataclass(frozen=True)
class AsofCondition:
    """``equalities`` have the left side first. ``only_right`` speak of the right side alone; ``others`` are none of all this."""

    equalities: tuple[Equality, ...]
    orders: tuple[TimeOrder, ...]
    only_right: tuple[Expr, ...]
    others: tuple[Expr, ...]


def read_asof(conditions: Iterable[Expr], side_of: SideOfExpr) -> AsofCondition:
    """What the conditions of an ASOF JOIN say.

    >>> from windrow.model.expr import Column
    >>> ordered = Binary("<", Column("u"), Column("t"))
    >>> read_asof([ordered], lambda expr: "right" if expr == Column("u") else "left").orders
    (TimeOrder(left=Column(name='t', qualifier=None), right=Column(name='u', qualifier=None), is_exclusive=True),)
    """
    equalities: list[Equality] = []
    orders: list[TimeOrder] = []
    only_right: list[Expr] = []
    others: list[Expr] = []
    for condition in conditions:
        if (equal := _equality(condition, side_of)) is not None:
            equalities.append(equal)
        elif (order := _order(condition, side_of)) is not None:
            orders.append(order)
        elif side_of(condition) == "right":
            only_right.append(condition)
        else:
            others.append(condition)
    return AsofCondition(tuple(equalities), tuple(orders), tuple(only_right), tuple(others))


def event_time_field(relation: Relation | None) -> str | None:
    """The column that a stream takes its event time from, in lower case."""
    if relation is None or not isinstance(relation.defined_by, CreateStream):
        return None
    named = relation.defined_by.options.get("event.time.field")
    return None if named is None else named.lower()


def _equality(condition: Expr, side_of: SideOfExpr) -> Equality | None:
    equal = equality_of(condition)
    if equal is None:
        return None
    sides = side_of(equal.left), side_of(equal.right)
    if sides == ("left", "right"):
        return equal
    return Equality(equal.right, equal.left, equal.nulls_meet) if sides == ("right", "left") else None


def _order(condition: Expr, side_of: SideOfExpr) -> TimeOrder | None:
    if not isinstance(condition, Binary) or condition.op not in _MIRRORED:
        return None
    one, op, other = condition.left, condition.op, condition.right
    if (side_of(one), side_of(other)) == ("right", "left"):
        one, op, other = other, _MIRRORED[op], one
    if (side_of(one), side_of(other)) != ("left", "right") or op not in _EARLIER:
        return None
    return TimeOrder(one, other, _EARLIER[op])
