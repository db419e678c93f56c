"""WR236, WR237, WR238: QUALIFY has something to ask, and what is compared comes out together."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.emission_groups import emits_once, looks_across
from windrow.check.blocks import Block, Context, Place
from windrow.check.rules.not_grouped import group_keys, normal_key
from windrow.check.rules.window_purpose import gives_window_rows
from windrow.errors import Diagnostic
from windrow.model.expr import Over
from windrow.model.query import EmitChanges


def together(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.outer is None:
            yield from _judge(block)


def _judge(block: Block) -> Iterator[Diagnostic]:
    select = block.select
    overs = [(node, place) for place in block.places for node, _ in place.nodes if isinstance(node, Over)]
    if select.qualify is not None and not overs:
        word = "HAVING" if block.scopes.is_aggregate else "WHERE"
        message = "QUALIFY filters by a call with OVER, and there is none"
        yield Diagnostic("WR236", message, select.qualify.span, f"write {word} instead of QUALIFY")
    if select.is_distinct and overs:
        hint = "take it in two steps: SELECT DISTINCT ... FROM (SELECT ..., ROW_NUMBER() OVER (...) AS n FROM ...) AS x"
        yield Diagnostic("WR238", "DISTINCT and OVER cannot stand in one SELECT", select.span, hint)
    is_of_rows = gives_window_rows(block)
    if not (block.scopes.is_aggregate or is_of_rows) or emits_once(select):
        return
    what = "rows" if is_of_rows else "groups"
    for node, place in overs:
        if not looks_across(node):
            yield _not_together(f"{node.call.name} OVER (...) compares the {what} of a window, which", node, place, block)
    if select.is_distinct and _may_repeat(block):
        yield Diagnostic("WR237", "DISTINCT compares the groups of a window, which do not come out together", select.span, _hint(block))


def _not_together(what: str, node: Over, place: Place, block: Block) -> Diagnostic:
    return Diagnostic("WR237", f"{what} do not come out together", node.span or place.expr.span, _hint(block))


def _hint(block: Block) -> str:
    select = block.select
    if select.window is None:
        return "add a window: WINDOW TUMBLING(1m); or wait for the end of the input: EMIT FINAL"
    if not select.window.kind.closes_together:
        return "windows of rows close one by one; use WINDOW TUMBLING(1m)"
    return (
        "write EMIT FINAL"
        if isinstance(select.emit, EmitChanges)
        else "remove TRIGGER and ALLOWED_LATENESS, so that each window emits once"
    )


def _may_repeat(block: Block) -> bool:
    """Whether two groups may look the same: not where every key is selected."""
    keys = group_keys(block)
    selected = {normal_key(item.expr, block) for item in block.select.items}
    return keys is not None and not keys <= selected
