"""LATERAL VIEW, UNNEST and EXPLODE in the list as stages that make several rows of one, before anything else is done with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.catalog.generators import generator, is_outer, unnests_structs
from windrow.catalog.relation import Names
from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer, item_name, select_scopes, view_columns
from windrow.model.expr import Call, Column
from windrow.model.query import LateralView, Select, SelectItem
from windrow.plan.join_names import JoinInput
from windrow.plan.stages import Explode


@dataclass(frozen=True)
class View:
    """A lateral view and what is known of it. ``given`` is what it would be as an input of a join."""

    given: JoinInput
    generator: str
    is_outer: bool


def take_listed(select: Select) -> Select:
    """EXPLODE(items) AS item in the list is a lateral view whose column is selected."""
    views = list(select.lateral_views)
    items: list[SelectItem] = []
    for item in select.items:
        if isinstance(item.expr, Call) and generator(item.expr.name) is not None:
            name, alias = item_name(item), f"listed{len(views)}"
            views.append(LateralView(item.expr, alias, (name,)))
            item = replace(item, expr=Column(name, alias, span=item.expr.span), alias=name)
        items.append(item)
    return replace(select, items=tuple(items), lateral_views=tuple(views))


def views_of(select: Select, names: Names) -> tuple[View, ...]:
    """``select`` still has the names that its user wrote."""
    scope = select_scopes(select, names).rows
    return tuple(_view(view, position, scope) for position, view in enumerate(select.lateral_views))


def _view(view: LateralView, position: int, scope: Scope) -> View:
    assert isinstance(view.call, Call), "a lateral view without a generator passed the checks"
    name = generator(view.call.name) or ""
    if name == "unnest":
        name = "inline" if unnests_structs(infer(view.call.args[0], scope), len(view.columns)) else "explode"
    columns = view_columns(view, scope) or ()
    return View(JoinInput((view.alias or f"view{position}").lower(), "", columns, False), name, view.is_outer or is_outer(view.call.name))


def plan_views(
    name: str, select: Select, views: tuple[View, ...], input_name: str, is_strict: bool, *, is_joined: bool
) -> tuple[Explode, ...]:
    """One stage a view, from left to right. ``select`` is bound by now."""
    stages: list[Explode] = []
    for view, written in zip(views, select.lateral_views, strict=True):
        assert isinstance(written.call, Call)
        given = view.given
        columns = tuple(given.name_of(column.name) if is_joined else column.name for column in given.columns)
        stage = f"{name}/rows" if not stages else f"{name}/rows{len(stages) + 1}"
        before = stages[-1].name if stages else input_name
        reason = "a row for which there is nothing stays, with NULLs" if view.is_outer else "a row for which there is nothing is filtered"
        stages.append(Explode(stage, before, view.generator, written.call.args, columns, view.is_outer, is_strict, reason))
    return tuple(stages)
