"""OVER: which rows a statement must keep to look back at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windrow.catalog.emission_groups import WINDOW_BOUNDS, looks_across
from windrow.model.expr import Binary, Call, Column, Expr, Literal, Node, Over, OverSpec, Slot, Unary, transform
from windrow.model.window_kinds import FixedKind, WindowKind
from windrow.plan.stages import (
    Aggregate,
    Explode,
    FilterProject,
    Item,
    LookupJoin,
    OverAggregate,
    OverCalls,
    Stage,
    SubqueryLookup,
    WindowRows,
)
from windrow.plan.stream_joins import WindowJoin
from windrow.windowing.emit_policy import EmitPolicy

# Functions that look a given number of rows back.
_OFFSETS = {"LAG"}
# How many rows of a partition are kept for a call that orders them itself and names no buffer: a row may be that far out of order.
OUT_OF_ORDER_ROWS = 1000


def plan_over(plain: FilterProject, qualify: Expr | None, *, over_groups: bool = False) -> OverAggregate:
    """A filter and projection in which OVER stands, as the stage that keeps the rows those calls look at.

    ``over_groups``: the rows are emissions, so that calls compare those of one window unless they look across windows.
    """
    slots = _OverSlots(over_groups)
    return OverAggregate(
        name=plain.name,
        input=plain.input,
        where=plain.where,
        output=plain.output.changed(slots.fill),
        qualify=None if qualify is None else slots.fill(qualify),
        over_calls=slots.over_calls(),
        is_strict=plain.is_strict,
        reason=over_reason(slots.over_calls()),
    )


def distinct_qualify(items: tuple[Item, ...]) -> Expr:
    """What QUALIFY would say for DISTINCT: of equal emissions of a window, the first."""
    values = tuple(item.expr for item in items if item.expr is not None)
    return Binary("=", Over(Call("ROW_NUMBER"), OverSpec(partition_by=values)), Literal(1))


def mark_emission_groups(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    """OVER calls whose partition is one window of a stream of windows, by whatever name, compare what it emits at once."""
    marked = dict(stages)
    for stage in stages.values():
        if isinstance(stage, OverAggregate):
            bounds = _window_columns(stage.input, stages)
            over_calls = tuple(
                replace(group, is_at_once=True) if any(isinstance(k, Column) and k.name in bounds for k in group.partition_by) else group
                for group in stage.over_calls
            )
            marked[stage.name] = replace(stage, over_calls=over_calls, reason=over_reason(over_calls))
    return marked


def _window_columns(name: str, stages: Mapping[str, Stage]) -> frozenset[str]:
    """The columns of a stage, in lower case, that hold a bound of a window whose groups come out together and once."""
    match stages.get(name):
        case Aggregate(
            window=WindowKind(closes_together=True), emit_policy=EmitPolicy(on_close=True) as emit_policy, lateness=0, output=output
        ):
            return _handed_on(output.items, frozenset(WINDOW_BOUNDS)) if emit_policy == EmitPolicy(on_close=True) else frozenset()
        case WindowJoin(window=FixedKind(told_apart_by=bounds)):
            return frozenset(bounds)
        case FilterProject(input=before, output=output) | OverAggregate(input=before, output=output):
            return _handed_on(output.items, _window_columns(before, stages))
        case SubqueryLookup(input=before) | Explode(input=before) | WindowRows(input=before):
            return _window_columns(before, stages)
        case LookupJoin(stream=stream):
            known = _window_columns(stream.input, stages)
            return known if stream.prefix is None else known | {f"{stream.prefix}.{column}" for column in known}
        case _:
            return frozenset()


def _handed_on(items: tuple[Item, ...], known: frozenset[str]) -> frozenset[str]:
    """System columns travel by themselves; the rest is selected."""
    starred = known if any(item.expr is None for item in items) else known & set(WINDOW_BOUNDS)
    own = {item.name.lower(): isinstance(item.expr, Column) and item.expr.name in known for item in items if item.expr is not None}
    return frozenset({*(name for name in starred if own.get(name, True)), *(name for name, is_bound in own.items() if is_bound)})


def over_reason(over_calls: tuple[OverCalls, ...]) -> str:
    over_calls = tuple(group for group in over_calls if not group.is_at_once)
    if not over_calls:
        return "the groups of a window come out together: they are compared with each other, and nothing is kept"
    if any(group.buffer is None for group in over_calls):
        return "a frame without a beginning: every row of a partition is kept; ROWS WINDOW BUFFER n ROWS would bound it"
    return f"the last {max(group.buffer or 0 for group in over_calls)} rows of each partition are kept"


class _OverSlots:
    """Collects OVER calls and puts slots in their place, grouped by the rows they look at."""

    def __init__(self, over_groups: bool) -> None:
        self._over_groups = over_groups
        self._slots: dict[Over, Slot] = {}

    def fill(self, node: Node) -> Expr:
        return transform(node, self._change)  # type: ignore[return-value]  # an expression stays one

    def _change(self, node: Node) -> Node | None:
        if not isinstance(node, Over):
            return None
        return self._slots.setdefault(node, Slot(f"_o{len(self._slots)}"))

    def over_calls(self) -> tuple[OverCalls, ...]:
        groups: dict[tuple[tuple[Expr, ...], int | None, bool], list[tuple[str, Over]]] = {}
        for over, slot in self._slots.items():
            is_at_once = self._over_groups and not looks_across(over)
            bounds = (Column(name) for name in WINDOW_BOUNDS) if is_at_once else ()
            keys = tuple(dict.fromkeys((*over.spec.partition_by, *bounds)))
            groups.setdefault((keys, rows_needed(over), is_at_once), []).append((slot.name, over))
        return tuple(OverCalls(keys, buffer, tuple(calls), is_at_once) for (keys, buffer, is_at_once), calls in groups.items())


def rows_needed(over: Over) -> int | None:
    """How many rows of its partition, the row itself included, a call can ever see; None where there is no bound."""
    if over.spec.buffer is not None:
        return over.spec.buffer
    needed = _rows_named(over)
    if needed is None:
        return None
    # With an order of its own, a row that arrives out of order looks further back than its place in the arrival says.
    return max(needed, OUT_OF_ORDER_ROWS) if over.spec.order_by else needed


def _rows_named(over: Over) -> int | None:
    frame = over.spec.frame
    if over.call.name.upper() in _OFFSETS:
        return 1 + (_whole_number(over.call.args[1]) if len(over.call.args) > 1 else 1)
    if frame is not None and not frame.is_range and frame.start is not None:
        return 1 - min(frame.start, 0)
    return None


def _whole_number(expr: Expr) -> int:
    match expr:
        case Literal(value=int(value)):
            return value
        case Unary(op="-", operand=Literal(value=int(value))):
            return -value
        case _:
            return 1
