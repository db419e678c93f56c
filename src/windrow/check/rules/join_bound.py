"""WR250: a join of two streams must say how far apart in time its rows may be, or its state would grow for ever."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.scope import Binding, Resolved, Scope, walk_own
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Between, Binary, Column, Expr, Node

_LOWER = frozenset({">", ">="})
_UPPER = frozenset({"<", "<="})


def join_bound(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.select.window is None:
            yield from _judge(block)


def _judge(block: Block) -> Iterator[Diagnostic]:
    bindings = block.scopes.rows.bindings
    for count, join in enumerate(block.select.joins):
        right = bindings[count + 1]
        left_streams = [binding for binding in bindings[: count + 1] if binding.kind == "stream"]
        if right.kind != "stream" or not left_streams or join.within is not None:
            continue
        if not right.is_known or not all(binding.is_known for binding in left_streams):
            continue
        conditions = [expr for expr in (join.on, block.select.where) if expr is not None]
        if not _is_bounded(conditions, right, block.scopes.rows):
            left = left_streams[-1].name
            message = f"the join of the streams {left} and {right.name} has no time bound: add WITHIN"
            yield Diagnostic("WR250", message, join.span or join.source.span, f"write JOIN {right.name} WITHIN 10s ON ...")


def _is_bounded(conditions: list[Expr], right: Binding, scope: Scope) -> bool:
    """Whether the right side's time lies between two values of the left side, or equals one."""
    directions: set[str] = set()
    for expr in conditions:
        for part in _conjuncts(expr):
            directions |= _directions(part, right, scope)
    return {"lower", "upper"} <= directions


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Binary) and expr.op == "AND":
        yield from _conjuncts(expr.left)
        yield from _conjuncts(expr.right)
    else:
        yield expr


def _directions(part: Expr, right: Binding, scope: Scope) -> set[str]:
    if isinstance(part, Between) and not part.negated:
        bounds = [(part.operand, part.low, "lower"), (part.operand, part.high, "upper")]
    elif isinstance(part, Binary) and part.op in _LOWER | _UPPER:
        bounds = [(part.left, part.right, "lower" if part.op in _LOWER else "upper")]
    else:
        return set()
    found = set()
    for value, bound, direction in bounds:
        sides = _side(value, right, scope), _side(bound, right, scope)
        if sides == ("right", "left"):
            found.add(direction)
        elif sides == ("left", "right"):
            found.add("upper" if direction == "lower" else "lower")
        elif sides[0] == "both" and sides[1] == "none":
            # b.t - a.t <= INTERVAL '10' SECOND
            found.add(direction)
    return found


def _side(node: Node, right: Binding, scope: Scope) -> str:
    sides = set()
    for column in walk_own(node):
        if isinstance(column, Column):
            found = scope.resolve(column)
            owner = found.source if isinstance(found, Resolved) else None
            sides.add("right" if owner == right else "left")
    if not sides:
        return "none"
    return "both" if len(sides) == 2 else sides.pop()
