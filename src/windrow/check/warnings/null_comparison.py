"""WR284: a comparison with NULL is NULL, whatever stands on its other side."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic, Severity
from windrow.model.expr import Binary, Literal
from windrow.sql import render_expr

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})


def null_comparison(context: Context) -> Iterator[Diagnostic]:
    for node, _, _, _ in context.nodes():
        if not isinstance(node, Binary) or node.op not in _COMPARISONS or Literal(None) not in (node.left, node.right):
            continue
        other = node.left if node.right == Literal(None) else node.right
        wanted = "IS NOT NULL" if node.op == "!=" else "IS NULL"
        message = f"{render_expr(node)} is NULL for every row, so it is never true"
        yield Diagnostic("WR284", message, node.span, f"write {render_expr(other)} {wanted}", Severity.WARNING)
