"""WR253: IN and a subquery in place of a value take one column."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.typing import output_columns
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import InQuery, ScalarQuery


def subquery(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        if not isinstance(node, InQuery | ScalarQuery):
            continue
        columns = output_columns(node.query, scope.names, scope)
        if columns is not None and len(columns) != 1:
            what = "IN (SELECT ...)" if isinstance(node, InQuery) else "a subquery used as a value"
            hint = f"select one of: {', '.join(column.name for column in columns)}" if columns else "select one column"
            yield Diagnostic("WR253", f"{what} needs one column, not {len(columns)}", node.query.span or node.span, hint)
