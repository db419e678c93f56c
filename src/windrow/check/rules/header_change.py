"""WR239: headers are changed by the row that goes out, so by an item of the select list."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.own_functions import HEADER_CHANGES
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call
from windrow.sql import render_expr


def header_change(context: Context) -> Iterator[Diagnostic]:
    for node, _, place, _ in context.nodes():
        if isinstance(node, Call) and node.name.lower() in HEADER_CHANGES and place.clause != "SELECT":
            message = f"{node.name} changes the row that goes out, so it cannot stand in {place.clause}"
            yield Diagnostic("WR239", message, node.name_span or node.span, f"move it to SELECT, or read with HEADER({_key(node)})")


def _key(call: Call) -> str:
    return render_expr(call.args[0]) if call.args else "'name'"
