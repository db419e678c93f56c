"""WR267, WR268: constraints have names of their own, and judge a row by what it holds."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context, constraints_of
from windrow.errors import Diagnostic
from windrow.model.constraint import Constraint
from windrow.model.expr import Call, Exists, InQuery, ScalarQuery, walk
from windrow.model.fate import MOST_CONSTRAINTS

# They give another value each time they are asked: a batch that runs again would judge its rows in another way.
_BY_CHANCE = frozenset({"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "now", "current_timestamp"})


def constraint(context: Context) -> Iterator[Diagnostic]:
    for statement in context.script.statements:
        constraints = constraints_of(statement)
        yield from _names(constraints)
        for each in constraints:
            yield from _asks_elsewhere(each)


def _names(constraints: tuple[Constraint, ...]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for each in constraints:
        if each.name.lower() in seen:
            yield Diagnostic(
                "WR267", f'two constraints are called "{each.name}"', each.span, f"rename one: CONSTRAINT {each.name}_2 EXPECT ..."
            )
        seen.add(each.name.lower())
    if len(constraints) > MOST_CONSTRAINTS:
        message = f"a stream has at most {MOST_CONSTRAINTS} constraints, and this one has {len(constraints)}"
        yield Diagnostic("WR267", message, constraints[MOST_CONSTRAINTS].span, "join conditions with AND")


def _asks_elsewhere(each: Constraint) -> Iterator[Diagnostic]:
    for node in walk(each.condition):
        if isinstance(node, InQuery | Exists | ScalarQuery):
            message = f'constraint "{each.name}" asks a table, but a constraint judges a row by what it holds'
            hint = "join the table in a query, and declare the constraint on the stream of that query"
            yield Diagnostic("WR268", message, node.span or each.span, hint)
            return
        if isinstance(node, Call) and node.name.lower() in _BY_CHANCE:
            message = f'constraint "{each.name}" calls {node.name}, which says something else when a batch runs again'
            hint = (
                "compare with _timestamp, the arrival of the row" if node.name.lower() in ("now", "current_timestamp") else "leave it out"
            )
            yield Diagnostic("WR268", message, node.name_span or node.span, hint)
