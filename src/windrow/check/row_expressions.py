"""Expressions in annotations, which are asked of each row by itself: a condition that is true or false, or a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windrow.catalog.scope import Binding, Missing, MissingQualifier, Scope, has_aggregate, walk_own
from windrow.catalog.typing import infer
from windrow.check.agreement import may_be_boolean
from windrow.check.blocks import Context
from windrow.check.suggestions import column_hint
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Column, Exists, Expr, InQuery, Over, ScalarQuery, walk
from windrow.model.types import ColumnDef


def row_expression(
    expr: Expr, columns: Sequence[ColumnDef], context: Context, key: str, what: str, *, is_condition: bool = True
) -> Iterator[Diagnostic]:
    """What keeps it from being asked of a row with these columns. ``what`` it is for is said in messages, as is its ``key``."""
    example = f"-- {key}: price > 0"
    if any(isinstance(node, Over | ScalarQuery | InQuery | Exists) for node in walk(expr)):
        message = f"{what} is asked of each row by itself: no subquery and no OVER"
        yield Diagnostic("WR271", message, expr.span, "compute it in the query, and name the result here")
        return
    scope = Scope(context.catalog, (Binding("", tuple(columns)),))
    names = [column.name for column in columns]
    faults = []
    for node in walk_own(expr):
        if isinstance(node, Column) and isinstance(scope.resolve(node), Missing | MissingQualifier):
            hint = column_hint(node.name, [("the statement", names)])
            faults.append(Diagnostic("WR272", f'unknown column "{node.name}" in {key}', node.span or expr.span, hint))
        elif isinstance(node, Call) and context.catalog.function(node.name) is None:
            span = node.name_span or node.span
            faults.append(Diagnostic("WR271", f"unknown function {node.name}", span, "SHOW FUNCTIONS lists every function"))
    yield from faults
    if faults:
        return
    if has_aggregate(expr, context.catalog):
        message = f"{what} is asked of each row, so it has no aggregate"
        yield Diagnostic("WR271", message, expr.span, "aggregate in the query, and name the result here")
    elif is_condition and not may_be_boolean(type_ := infer(expr, scope)):
        yield Diagnostic("WR271", f"{what} is true or false, and this is {type_}", expr.span, example)
