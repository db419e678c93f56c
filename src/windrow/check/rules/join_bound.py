"""WR250: a join of two streams must say how far apart in time its rows may be, or its state would grow for ever."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.scope import Binding, Resolved, Scope, walk_own
from windrow.catalog.time_bounds import SideName, TimeBound, conjuncts, find_bound
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Between, Binary, Column, Expr, Node, transform
from windrow.model.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN

_LOWER = frozenset({">", ">="})
_UPPER = frozenset({"<", "<="})


def join_bound(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.select.window is None:
            yield from _judge(context, block)


def _judge(context: Context, block: Block) -> Iterator[Diagnostic]:
    bindings = block.scopes.rows.bindings
    for count, join in enumerate(block.select.joins):
        right = bindings[count + 1]
        left_streams = [binding for binding in bindings[: count + 1] if binding.kind == "stream"]
        if right.kind != "stream" or not left_streams or join.within is not None or join.is_asof:
            continue
        if not all(map(context.may_judge, (right, *left_streams))):
            continue
        conditions = [expr for expr in (join.on, block.select.where) if expr is not None]
        if not is_bounded(conditions, right, block.scopes.rows):
            left = left_streams[-1].name
            message = f"the join of the streams {left} and {right.name} has no time bound: add WITHIN"
            yield Diagnostic("WR250", message, join.span or join.source.span, f"write JOIN {right.name} WITHIN 10s ON ...")


def is_bounded(conditions: list[Expr], right: Binding, scope: Scope) -> bool:
    """Whether the right side's time lies between two values of the left side, or equals one."""
    if bound_of(conditions, right, scope) is not None:
        return True
    directions: set[str] = set()
    for expr in conditions:
        for part in conjuncts(expr):
            directions |= _directions(part, right, scope)
    return {"lower", "upper"} <= directions


def bound_of(conditions: list[Expr], right: Binding, scope: Scope) -> TimeBound | None:
    """The bound as the engine can use it: two times, each moved by a fixed length."""

    def side(column: Column) -> SideName | None:
        found = scope.resolve(column)
        if not isinstance(found, Resolved) or found.type not in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN):
            return None
        return "right" if found.source == right else "left"

    return find_bound([_lowered(part) for expr in conditions for part in conjuncts(expr)], side)


def _lowered(expr: Expr) -> Expr:
    def change(node: Node) -> Node | None:
        if not isinstance(node, Column):
            return None
        return Column(node.name.lower(), None if node.qualifier is None else node.qualifier.lower())

    return transform(expr, change)


def _directions(part: Expr, right: Binding, scope: Scope) -> set[str]:
    if isinstance(part, Between) and not part.negated:
        bounds = [(part.operand, part.low, "lower"), (part.operand, part.high, "upper")]
    elif isinstance(part, Binary) and part.op in _LOWER | _UPPER:
        bounds = [(part.left, part.right, "lower" if part.op in _LOWER else "upper")]
    else:
        return set()
    found = set()
    for value, bound, direction in bounds:
        sides = side_of(value, right, scope), side_of(bound, right, scope)
        if sides == ("right", "left"):
            found.add(direction)
        elif sides == ("left", "right"):
            found.add("upper" if direction == "lower" else "lower")
        elif sides[0] == "both" and sides[1] == "none":
            # b.t - a.t <= INTERVAL '10' SECOND
            found.add(direction)
    return found


def side_of(node: Node, right: Binding, scope: Scope) -> str:
    """right, left, both or none: whose columns an expression is made of."""
    sides = set()
    for column in walk_own(node):
        if isinstance(column, Column):
            found = scope.resolve(column)
            owner = found.source if isinstance(found, Resolved) else None
            sides.add("right" if owner == right else "left")
    if not sides:
        return "none"
    return "both" if len(sides) == 2 else sides.pop()
