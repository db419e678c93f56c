"""The filters of a SELECT over joins, and the columns that it asks of inputs of which nothing is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.catalog.time_bounds import conjuncts
from windrow.model.expr import Column, Node, walk
from windrow.model.query import Select
from windrow.model.types import UNKNOWN, ColumnDef
from windrow.model.window import EventTime
from windrow.plan.join_names import JoinInput
from windrow.plan.pushdown import JoinStep, Pushed, push_filters


def filters_of(select: Select, inputs: tuple[JoinInput, ...], *, is_strict: bool) -> Pushed:
    """Where each condition of WHERE and ON acts. A statement that stops at an error asks nothing of rows earlier than it says."""
    steps = tuple(
        JoinStep(join.kind, given.alias, tuple(conjuncts(join.on)), join.is_asof, given.is_table)
        for join, given in zip(select.joins, inputs[1:], strict=True)
    )
    # A window with a clock of its own goes by all rows that come to it, also by those that WHERE leaves out.
    has_own_clock = select.window is not None and (select.window.watermark is not None or select.window.time != EventTime())
    may_move = not is_strict and not inputs[0].is_table and not has_own_clock
    return push_filters(inputs[0].alias, steps, select.where, may_move=may_move)


def with_selected_columns(inputs: tuple[JoinInput, ...], select: Select) -> tuple[JoinInput, ...]:
    """An input of which no row was seen has the columns that are asked of it: they are NULL, if it ever comes to that."""
    if all(given.columns for given in inputs):
        return inputs
    selected = [node.name for node in _asking(select) if isinstance(node, Column)]
    return tuple(given if given.columns else replace(given, columns=_selected_of(given, selected)) for given in inputs)


def _asking(select: Select) -> Iterator[Node]:
    """Everything that the SELECT itself asks; queries nested in FROM ask their own inputs."""
    yield from walk(replace(select, source=None, joins=(), ctes=()))
    for join in select.joins:
        if join.on is not None:
            yield from walk(join.on)


def _selected_of(given: JoinInput, selected: list[str]) -> tuple[ColumnDef, ...]:
    prefix = f"{given.alias}."
    known = {column.name for column in given.physical}
    names = dict.fromkeys(name.removeprefix(prefix) for name in selected if name.startswith(prefix) and name not in known)
    return tuple(ColumnDef(name, UNKNOWN) for name in names)
