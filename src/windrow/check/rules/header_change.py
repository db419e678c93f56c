"""WR239: headers are changed by each row that goes out, so by an item of the select list, and not by one of its branches."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.own_functions import HEADER_CHANGES
from windrow.check.blocks import Context, Place
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Case, Node, walk
from windrow.sql import render_expr


def header_change(context: Context) -> Iterator[Diagnostic]:
    for block in context.judged:
        for place in block.places:
            yield from _branches(place) if place.clause == "SELECT" else _elsewhere(place)


def _elsewhere(place: Place) -> Iterator[Diagnostic]:
    for call in _changes(place.expr):
        message = f"{call.name} changes the row that goes out, so it cannot stand in {place.clause}"
        key = render_expr(call.args[0]) if call.args else "'name'"
        yield Diagnostic("WR239", message, call.name_span or call.span, f"move it to SELECT, or read with HEADER({key})")


def _branches(place: Place) -> Iterator[Diagnostic]:
    for node in walk(place.expr):
        for call in (call for branch in _branches_of(node) for call in _changes(branch)):
            message = f"{call.name} in a branch would change the headers of every row"
            hint = "put the choice inside: SET_HEADER('level', CASE WHEN v > 9 THEN 'high' ELSE 'low' END)"
            yield Diagnostic("WR239", message, call.name_span or call.span, hint)


def _branches_of(node: Node) -> list[Node]:
    """What is computed for some rows only."""
    match node:
        case Case(branches=branches, otherwise=otherwise):
            return [*(then for _, then in branches), *(() if otherwise is None else (otherwise,))]
        case Call(name=name, args=args) if name.lower() in ("if", "iff"):
            return list(args[1:])
        case _:
            return []


def _changes(node: Node) -> Iterator[Call]:
    return (found for found in walk(node) if isinstance(found, Call) and found.name.lower() in HEADER_CHANGES)
