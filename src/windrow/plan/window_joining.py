"""Joins inside windows that come out when a window closes: which joins these are, and what follows them."""

from __future__ import annotations

from dataclasses import replace

from windrow.catalog.time_bounds import SideName, conjuncts, find_bound
from windrow.model.expr import Column, Expr
from windrow.model.query import EmitChanges, JoinKind, Select
from windrow.model.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN
from windrow.model.window import EventTime, WindowClause
from windrow.model.window_kinds import ONE_INSTANT, FixedKind, MovingKind
from windrow.plan.join_keys import JoinKeys
from windrow.plan.join_names import JoinedColumns, JoinInput
from windrow.plan.pushdown import JoinStep, Pushed
from windrow.plan.selects import Selected, has_groups, lateness_of
from windrow.plan.stages import Aggregate, Side
from windrow.plan.stream_joins import PAIR_START, WindowJoin

_INNER = (JoinKind.INNER, JoinKind.CROSS)


def windows_close(select: Select, inputs: tuple[JoinInput, ...], pushed: Pushed, columns: JoinedColumns) -> bool:
    """Whether two streams are joined inside windows, each as a whole when it closes. WHERE is what is left of it.

    Pairs that are only counted need not wait for that where windows do not move and nobody asks who met nothing.
    """
    window = select.window
    if window is None or window.time != EventTime() or inputs[0].is_table:
        return False
    joined = [position for position, step in enumerate(pushed.steps) if not step.is_table]
    if len(joined) != 1 or select.joins[joined[0]].within is not None or select.joins[joined[0]].is_asof:
        return False
    step = pushed.steps[joined[0]]
    if _is_bounded(step, select, columns):
        return False
    is_grouped, is_outer = has_groups(select), step.kind not in _INNER
    match window.kind:
        case MovingKind():
            return True
        case FixedKind(overlaps=True):
            return is_outer or not is_grouped
        case FixedKind():
            return not is_grouped and not isinstance(select.emit, EmitChanges)
        case _:
            return False


def _is_bounded(step: JoinStep, select: Select, columns: JoinedColumns) -> bool:
    def side_of(column: Column) -> SideName | None:
        if columns.type_of(column) not in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN):
            return None
        return "right" if column.name.partition(".")[0] == step.right else "left"

    said_after = conjuncts(select.where) if step.kind in _INNER else ()
    return find_bound([*step.conditions, *said_after], side_of) is not None


def at_close(flat: Select) -> Select:
    """The rows that come out of a window that has closed, under the SELECT that is left to do: they have their bounds already."""
    if flat.window is None:
        return flat
    if not has_groups(flat):
        return replace(flat, window=None, emit=None)
    # The windows of pairs are made already, so what is grouped has their start and their end.
    keys = flat.group_by
    if flat.is_distinct and not keys:
        keys = tuple(item.expr for item in flat.items)
    # Pairs of a window come out together, at its last instant: a window that holds nothing else has the same end.
    return replace(flat, window=replace(flat.window, kind=ONE_INSTANT), group_by=(*keys, Column(PAIR_START)), is_distinct=False)


def with_pair_starts(stage: Selected) -> Selected:
    """A stage that groups the pairs of windows knows where the start of each is."""
    if not isinstance(stage, Aggregate):
        return stage
    start = next((name for name, expr in stage.keys if expr == Column(PAIR_START)), None)
    return stage if start is None else replace(stage, starts_at=start)


def plan_window_join(
    name: str, sides: tuple[Side, Side], keys: JoinKeys, residual: Expr | None, clause: WindowClause, kind: JoinKind
) -> WindowJoin:
    window = clause.kind
    assert isinstance(window, FixedKind | MovingKind), "a window that cannot be joined in passed the checks"
    what = "each session, of the rows of both sides with the same key," if isinstance(window, MovingKind) else "each window"
    return WindowJoin(
        name,
        *sides,
        keys.pairs,
        keys.nulls_meet,
        (_event_time(sides[0]), _event_time(sides[1])),
        window,
        lateness_of(clause),
        residual,
        keeps_left=kind in (JoinKind.LEFT, JoinKind.FULL),
        keeps_right=kind in (JoinKind.RIGHT, JoinKind.FULL),
        reason=f"{what} is joined once, when it closes: its rows are kept until then",
    )


def _event_time(side: Side) -> Column:
    return Column("_event_time" if side.prefix is None else f"{side.prefix}._event_time")
