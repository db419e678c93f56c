"""Which emissions of a query come together, and which of its OVER calls compare them."""

from __future__ import annotations

from windrow.model.expr import Column, Expr, Over
from windrow.model.query import EmitChanges, EmitFinal, Select
from windrow.model.window import OnSessionEnd, OnWatermark, UpdatePrevious
from windrow.model.window_kinds import END, START

WINDOW_BOUNDS = (START, END)
_NEIGHBOURS = frozenset({"LAG", "LEAD"})


def is_window_bound(expr: Expr) -> bool:
    return isinstance(expr, Column) and expr.name.lower() in WINDOW_BOUNDS


def looks_across(over: Over) -> bool:
    """Whether a call over groups looks back at the windows before, rather than at the groups that came out with its own.

    It does where it is ordered by the window, or asks for the rows before without saying in which order.
    """
    spec = over.spec
    if any(is_window_bound(key) for key in spec.partition_by):
        return False
    if spec.order_by:
        return is_window_bound(spec.order_by[0].expr)
    is_moving = spec.frame is not None and not spec.frame.is_range and spec.frame.start is not None
    return spec.buffer is not None or is_moving or over.call.name.upper() in _NEIGHBOURS


def emits_once(select: Select) -> bool:
    """Whether the groups of a window come out together, once and for all."""
    window = select.window
    if window is None:
        return isinstance(select.emit, EmitFinal)
    is_early = any(not isinstance(trigger, OnWatermark | OnSessionEnd) for trigger in window.triggers)
    is_late = bool(window.allowed_lateness) or (window.allowed_lateness is None and isinstance(window.late, UpdatePrevious))
    return not (is_early or is_late or isinstance(select.emit, EmitChanges) or not window.kind.closes_together)
