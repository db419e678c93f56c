"""ASOF JOIN as a stage of its own, or as a lookup in a table."""

from __future__ import annotations

from windrow.catalog.asof import AsofCondition, read_asof
from windrow.catalog.binding import all_of
from windrow.catalog.time_bounds import conjuncts
from windrow.model.expr import Binary, Column, Expr, walk
from windrow.plan.stages import NewestRow, Side
from windrow.plan.stream_joins import AsofJoin


def plan_asof(
    name: str, sides: tuple[Side, Side], found: AsofCondition, keys: tuple[tuple[Expr, Expr], ...], *, lag: int, keeps_left: bool
) -> AsofJoin:
    order = found.orders[0]
    reason = (
        f"a row waits until the watermark has passed its time, so that no row of {sides[1].input} can come that it should have found; "
        "of the rows that the watermark has passed, the newest of each key is kept"
    )
    meets = tuple(equal.nulls_meet for equal in found.equalities)
    times = (order.left, order.right)
    return AsofJoin(name, *sides, keys, meets, times, order.is_exclusive, keeps_left, lag, reason=reason)


def newest_row(condition: Expr | None, table: set[str]) -> tuple[Expr | None, NewestRow]:
    """What makes rows of a table candidates, and how one of them is chosen. ``table`` has the names of its columns."""

    def side_of(expr: Expr) -> str:
        sides = {"right" if node.name in table else "left" for node in walk(expr) if isinstance(node, Column)}
        return "none" if not sides else "both" if len(sides) > 1 else sides.pop()

    found = read_asof(conjuncts(condition), side_of)
    order = found.orders[0]
    equal = all_of(Binary("<=>" if each.nulls_meet else "=", each.left, each.right) for each in found.equalities)
    by = tuple(each.right for each in found.equalities)
    return equal, NewestRow(by, order.right, order.left, order.is_exclusive, all_of(found.only_right))
