"""WR258: functions that give several rows stand in LATERAL VIEW or UNNEST, or alone in the list; their columns have names of their own."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.generators import generated_columns, generator
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer
from windrow.check.blocks import Block, Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Node
from windrow.model.query import LateralView
from windrow.model.types import UNKNOWN
from windrow.sql import render_expr

_ONE_COLUMN = frozenset({"explode"})


def generator_rule(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.outer is None:
            yield from _judge(block)


def _judge(block: Block) -> Iterator[Diagnostic]:
    for view in block.select.lateral_views:
        yield from _judge_view(view, block)
    listed = {id(item.expr) for item in block.select.items}
    seen = 0
    for place in block.places:
        for node, _ in place.nodes:
            if not isinstance(node, Call) or generator(node.name) is None:
                continue
            if place.clause == "LATERAL VIEW" and node is place.expr:
                continue
            seen += id(node) in listed
            if id(node) not in listed or seen > 1:
                yield _misplaced(node, place.clause if id(node) not in listed else "SELECT twice", place.scope)
            elif generator(node.name) not in _ONE_COLUMN or len(_names(node, place.scope)) > 1:
                yield _misplaced(node, "SELECT: it gives several columns", place.scope)


def _names(call: Call, scope: Scope) -> list[str]:
    given = generated_columns(call.name, [infer(arg, scope) for arg in call.args])
    return ["a", "b"] if given is None and generator(call.name) not in _ONE_COLUMN else [column.name for column in given or ()] or ["col"]


def _misplaced(call: Call, where: str, scope: Scope) -> Diagnostic:
    names = ", ".join(_names(call, scope))
    hint = f"write FROM ... LATERAL VIEW {render_expr(call)} v AS {names}, and use {names}"
    return Diagnostic("WR258", f"{call.name} gives several rows, and cannot stand in {where}", call.name_span or call.span, hint)


def _judge_view(view: LateralView, block: Block) -> Iterator[Diagnostic]:
    call: Node = view.call
    if not isinstance(call, Call) or generator(call.name) is None:
        name = call.name if isinstance(call, Call) else "this"
        yield Diagnostic(
            "WR258", f"LATERAL VIEW takes a function that gives several rows, and {name} is none", call.span, "write explode(items)"
        )
        return
    scope = block.scopes.rows
    types = [infer(arg, scope) for arg in call.args]
    given = generated_columns(call.name, types, len(view.columns), view.alias)
    if given is not None and view.columns and len(given) != len(view.columns):
        names = ", ".join(column.name for column in given)
        message = f"{call.name} gives {len(given)} columns, not {len(view.columns)}"
        yield Diagnostic("WR258", message, call.span, f"name {len(given)}: AS {names}")
    named = list(view.columns) or [column.name for column in given or ()]
    if not named and UNKNOWN not in types:
        yield Diagnostic("WR258", f"the columns of {call.name} need names", call.span, f"write {render_expr(call)} v AS a, b")
    taken = {column.name.lower() for binding in scope.bindings[: len(block.select.joins) + 1] for column in binding.columns}
    if not block.select.joins:
        for name in named:
            if name.lower() in taken:
                yield Diagnostic("WR258", f'the row has a column "{name}" already', view.span, f"give it another name: AS one_{name}")
