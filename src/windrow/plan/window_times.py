"""Columns that are bounds of a window, and how far the event time of their rows is from them.

A join may compare such columns in place of event times. Their rows come when the watermark has passed the window, so it is by the event
time that a row can be kept until its partner comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from windrow.catalog.typing import item_name
from windrow.model.expr import Column, Star
from windrow.model.query import DerivedSource, NamedSource, Query, Select, SelectItem, Union
from windrow.model.window_kinds import FixedKind, WindowKind
from windrow.plan.selects import has_groups

# By the name of a column in lower case: what is added to it to get the event time, in microseconds.
WindowTimes = Mapping[str, int]
_BOUNDS = ("_window_start", "_window_end")


def window_times(query: Query, times_of: Callable[[str], WindowTimes]) -> WindowTimes:
    """The bounds of windows among the columns of a query. ``times_of`` gives those of a stream by its name."""
    if isinstance(query, Union):
        left, right = window_times(query.left, times_of), window_times(query.right, times_of)
        return {name: shift for name, shift in left.items() if right.get(name) == shift}
    inner = _below(query, times_of)
    found = {name: inner[name] for name in _BOUNDS if name in inner}
    for item in query.items:
        if isinstance(item.expr, Star):
            found |= inner
        elif item_name(item).lower() == "_event_time":
            return {}
        elif (shift := _shift(item, inner)) is not None:
            found[item_name(item).lower()] = shift
    return found


def _shift(item: SelectItem, inner: WindowTimes) -> int | None:
    return inner.get(item.expr.name.lower()) if isinstance(item.expr, Column) else None


def _below(select: Select, times_of: Callable[[str], WindowTimes]) -> WindowTimes:
    """What the items of a query can name: the bounds of its own window, or what its source hands on."""
    if select.window is not None:
        return _of_kind(select.window.kind)
    if select.joins or select.lateral_views or select.is_distinct or has_groups(select):
        return {}
    own = {table.name.lower(): table.query for table in select.ctes}

    def known(name: str) -> WindowTimes:
        return window_times(own[name.lower()], known) if name.lower() in own else times_of(name)

    match select.source:
        case NamedSource(name=name):
            return known(name)
        case DerivedSource(query=query):
            return window_times(query, known)
        case None:
            return {}


def _of_kind(kind: WindowKind) -> WindowTimes:
    times = {"_window_end": kind.last_instant(0)}
    if isinstance(kind, FixedKind) and kind.start_tells_end:
        times["_window_start"] = kind.last_instant(kind.size)
    return times
