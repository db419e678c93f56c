"""WR230: aggregates stand in SELECT, HAVING, QUALIFY and ORDER BY, and never in one another."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.relation import Names
from windrow.catalog.scope import has_aggregate, is_aggregate
from windrow.check.blocks import Context, Place
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Node, Over, children
from windrow.model.query import Select, Union

_ALLOWED = frozenset({"SELECT", "HAVING", "QUALIFY", "ORDER BY"})
_HINTS = {
    "WHERE": "move the condition to HAVING",
    "CONSTRAINT": "a constraint judges each row by itself: declare it on the stream of a query that aggregates",
}


def misplaced_aggregate(context: Context) -> Iterator[Diagnostic]:
    for block in context.judged:
        for place in block.places:
            if place.clause in _ALLOWED:
                yield from _nested(place.expr, place.scope.names)
            else:
                yield from _forbidden(place, block.scopes.names)


def _aggregates(node: Node, names: Names) -> Iterator[Call]:
    """The outermost aggregates of the group below a node."""
    if isinstance(node, Select | Union):
        return
    if isinstance(node, Call) and is_aggregate(node, names):
        yield node
        return
    below = (*children(node.call), *children(node.spec)) if isinstance(node, Over) else children(node)
    for child in below:
        yield from _aggregates(child, names)


def _forbidden(place: Place, names: Names) -> Iterator[Diagnostic]:
    for call in _aggregates(place.expr, names):
        hint = _HINTS.get(place.clause, f"move {call.name} to SELECT or HAVING")
        yield Diagnostic("WR230", f"aggregate {call.name} cannot stand in {place.clause}", call.name_span or call.span, hint)


def _nested(node: Node, names: Names) -> Iterator[Diagnostic]:
    for call in _aggregates(node, names):
        for child in children(call):
            if has_aggregate(child, names):
                inner = next(_aggregates(child, names), call)
                message = f"aggregate {inner.name} stands inside {call.name}"
                hint = "aggregate in two steps: CREATE STREAM inner_result AS SELECT ..., then aggregate that stream"
                yield Diagnostic("WR230", message, inner.name_span or inner.span, hint)
