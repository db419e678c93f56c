"""One SELECT as one stage: what is grouped, what is aggregated, when it emits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from windrow.aggregates import ALL_ROWS, LAST_ROW, find_aggregate
from windrow.catalog.binding import same_form
from windrow.catalog.own_functions import is_bound
from windrow.model.expr import (
    Binary,
    Call,
    Column,
    Expr,
    Literal,
    Node,
    Over,
    Slot,
    SortKey,
    Star,
    children,
    transform,
    walk,
)
from windrow.model.options import Options
from windrow.model.policies import Granularity
from windrow.model.query import EmitChanges, EmitFinal, Select
from windrow.model.system import system_column
from windrow.model.window import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    DeadLetterLate,
    EventTime,
    EveryInterval,
    EveryRecords,
    IncludeInNext,
    OnSessionEnd,
    OnWatermark,
    ProcessingTime,
    Punctuated,
    UpdatePrevious,
    WhenRow,
    WindowClause,
)
from windrow.model.window_kinds import CountedKind, FixedKind, MovingKind
from windrow.plan.headers import take_header_changes
from windrow.plan.message_keys import joined_key
from windrow.plan.over import distinct_qualify, plan_over
from windrow.plan.sources import duration_option, granularity_of, is_strict
from windrow.plan.stages import Aggregate, AggregateItem, FilterProject, Item, Output, OverAggregate, PartialShape, WindowRows
from windrow.plan.time_rules import TimeSpec
from windrow.windowing.emit_policy import AT_CLOSE, EmitPolicy

Selected = FilterProject | Aggregate | OverAggregate | WindowRows
# The column of an emission that holds the rows of its window, and that of such a row that holds its own event time.
WINDOW_ROWS, ROW_TIME = "_window_rows", "_row_time"


def plan_select(name: str, select: Select, options: Options, input_name: str) -> tuple[Selected, ...]:
    """One stage, or two where calls with OVER look at groups. ``select`` is bound."""
    written = tuple(Item("*", None) if isinstance(item.expr, Star) else Item(item.alias or "", item.expr) for item in select.items)
    items, headers = take_header_changes(written)
    where = select.where
    keys = _group_keys(select, items)
    is_grouped = bool(keys) or select.window is not None or has_groups(select)
    marked = _marked_key(item.expr for item, source in zip(items, select.items, strict=True) if source.is_primary_key)
    output = Output(items, marked, tuple(_sort_key(key, items) for key in select.order_by), select.limit, headers)
    if not is_grouped:
        qualify, having = select.qualify, select.having
        if having is not None:
            # Without groups, HAVING is asked of each row: like WHERE, or like QUALIFY where it asks for a call with OVER.
            has_over = any(isinstance(node, Over) for node in walk(having))
            where, qualify = (where, _both(qualify, having)) if has_over else (_both(where, having), qualify)
        plain = FilterProject(name, input_name, where, output, is_strict(options), "no state: each row by itself")
        return (plan_over(plain, qualify) if _has_over(select) else plain,)
    if select.window is not None and not has_groups(select):
        return _plan_window_rows(name, select, options, input_name, output, where)
    if select.is_distinct and not keys and not any(_has_aggregate(item.expr) for item in items):
        keys = _distinct_keys(select, items)
    grouped, qualify = _plan_aggregate(name, select, options, input_name, output, where, keys)
    repeats = select.is_distinct and not {Slot(slot) for slot, _ in grouped.keys} <= {item.expr for item in grouped.output.items}
    if not repeats and not _has_over(select):
        return (grouped,)
    return _plan_over_groups(grouped, distinct_qualify(grouped.output.items) if repeats else qualify)


def _distinct_keys(select: Select, items: tuple[Item, ...]) -> tuple[Expr, ...]:
    """What makes rows different: the items. Of one that names the bounds of the window only the rest is the row's own."""
    keys: list[Expr] = []
    for expr in (item.expr for item in items if item.expr is not None):
        if select.window is None or not any(map(is_bound, walk(expr))):
            keys.append(expr)
        else:
            keys += (node for node in walk(expr) if isinstance(node, Column) and not is_bound(node))
    return tuple(dict.fromkeys(keys))


def _plan_window_rows(
    name: str,
    select: Select,
    options: Options,
    input_name: str,
    output: Output,
    where: Expr | None,
) -> tuple[Selected, ...]:
    """WINDOW without anything to group: windows that hold their rows, the rows taken out again, and what is made of each."""
    assert select.window is not None
    grouped, _ = _plan_aggregate(f"{name}/windows", select, options, input_name, Output(()), where, ())
    at_once = grouped.emit_policy.every_row
    held = AggregateItem(WINDOW_ROWS, Call(LAST_ROW if at_once else ALL_ROWS))
    windows = replace(grouped, aggregates=(held,), output=Output((Item(WINDOW_ROWS, Slot(WINDOW_ROWS)),)), having=None)
    reason = "each row goes out as it comes" if at_once else "the rows of a window go out together, when it closes"
    rows = WindowRows(f"{name}/windowed", windows.name, input_name, select.window.kind, at_once, reason)

    def own_time(node: Node) -> Node | None:
        """What goes out has the time of its window; the query itself means that of the row."""
        return Column(ROW_TIME) if isinstance(node, Column) and node.name == "_event_time" else None

    def of_row(expr: Expr) -> Expr:
        return transform(expr, own_time)

    having, qualify = (None if expr is None else of_row(expr) for expr in (select.having, select.qualify))
    has_over = False
    if having is not None and any(isinstance(node, Over) for node in walk(having)):
        qualify, having, has_over = _both(qualify, having), None, True
    plain = FilterProject(name, rows.name, having, output.changed(of_row), is_strict(options), "no state: each row by itself")
    return windows, rows, plan_over(plain, qualify, over_groups=True) if _has_over(select) or has_over else plain


def _both(one: Expr | None, other: Expr) -> Expr:
    return other if one is None else Binary("AND", one, other)


def _marked_key(marked: Iterable[Expr | None]) -> Expr | None:
    """What is marked PRIMARY KEY; several values are joined as those of a group are."""
    parts = tuple(expr for expr in marked if expr is not None)
    return joined_key(parts) if parts else None


def _plan_over_groups(grouped: Aggregate, qualify: Expr | None) -> tuple[Aggregate, OverAggregate]:
    """First the groups with everything that is asked of them, then the calls that look at them, and what is made of both."""
    values = [*(name for name, _ in grouped.keys), *(item.slot for item in grouped.aggregates)]
    inner = replace(
        grouped,
        name=f"{grouped.name}/groups",
        output=Output(tuple(Item(name, Slot(name)) for name in values)),
    )
    plain = FilterProject(grouped.name, inner.name, None, grouped.output, grouped.is_strict)
    return inner, plan_over(plain, qualify, over_groups=True)


def _sort_key(key: SortKey, items: tuple[Item, ...]) -> SortKey:
    """ORDER BY may name an item by its number."""
    position = key.expr.value if isinstance(key.expr, Literal) else None
    if isinstance(position, int) and not isinstance(position, bool):
        return replace(key, expr=items[position - 1].expr or key.expr)
    return key


def _has_over(select: Select) -> bool:
    looked_at = [*(item.expr for item in select.items), *((select.qualify,) if select.qualify is not None else ())]
    return any(isinstance(node, Over) for expr in looked_at for node in walk(expr))


def _plan_aggregate(
    name: str,
    select: Select,
    options: Options,
    input_name: str,
    output: Output,
    where: Expr | None,
    keys: tuple[Expr, ...],
) -> tuple[Aggregate, Expr | None]:
    """The groups, and what QUALIFY asks of them."""
    slots = _Slots(keys)
    window = select.window
    having = None if select.having is None else slots.fill(select.having)
    finished = output.changed(slots.fill)
    qualify = None if select.qualify is None else slots.fill(select.qualify)
    emit_policy, when = _emit_policy(select)
    shape, reason = _partial_shape(window, emit_policy)
    late = (window.late if window else None) or DeadLetterLate()
    grouped = Aggregate(
        name=name,
        input=input_name,
        where=where,
        keys=tuple((f"_k{i}", key) for i, key in enumerate(keys)),
        aggregates=tuple(slots.aggregates),
        window=window.kind if window else None,
        time=TimeSpec(_time(window), window is not None and isinstance(window.time, ProcessingTime), _delay(window), _punctuation(window)),
        lateness=lateness_of(window),
        late=late,
        emit_policy=emit_policy,
        when=when,
        partial_shape=shape,
        having=having,
        output=finished,
        ttl=duration_option(options, "state.ttl", None),
        is_strict=is_strict(options),
        is_exact=granularity_of(options) is Granularity.ROW,
        reason=reason,
    )
    return grouped, qualify


def within_shared_windows(grouped: Aggregate, since: Expr) -> Aggregate:
    """Rows that belong only to windows that hold ``since``, too: parts of a joined row may be of different slices."""
    shape, reason = grouped.partial_shape, grouped.reason
    if shape is PartialShape.SLICES:
        shape, reason = (
            PartialShape.WINDOWS,
            "a joined row belongs to the windows that hold all of its parts, so rows of one slice may differ",
        )
    return replace(grouped, since=since, partial_shape=shape, reason=reason)


class _Slots:
    """Collects the distinct aggregate calls of a SELECT and puts slots in their place, and in that of group keys."""

    def __init__(self, keys: tuple[Expr, ...]) -> None:
        self._keys = {same_form(key): Slot(f"_k{i}") for i, key in reversed(list(enumerate(keys)))}
        self._slots: dict[Call, Slot] = {}
        self.aggregates: list[AggregateItem] = []

    def fill(self, node: Node) -> Expr:
        return transform(node, self._change)  # type: ignore[return-value]  # an expression stays one

    def _change(self, node: Node) -> Node | None:
        if isinstance(node, Over):
            return change_below(node, self._change)
        if not isinstance(node, Literal) and (key := self._keys.get(same_form(node))) is not None:  # type: ignore[arg-type]
            return key
        if isinstance(node, Call) and is_aggregate(node):
            if node not in self._slots:
                slot = Slot(f"_a{len(self._slots)}")
                self._slots[node] = slot
                self.aggregates.append(AggregateItem(slot.name, node))
            return self._slots[node]
        return None


def has_groups(select: Select) -> bool:
    """Whether rows are put together, whatever the window is."""
    looked_at = (*(item.expr for item in select.items), select.having)
    return bool(select.group_by) or select.is_distinct or any(_has_aggregate(expr) for expr in looked_at)


def is_aggregate(node: Node) -> bool:
    return isinstance(node, Call) and find_aggregate(node) is not None


def change_below(over: Over, change: Callable[[Node], Node | None]) -> Over:
    """The call with everything below it changed, but not the call itself."""
    call = replace(
        over.call,
        args=tuple(transform(arg, change) for arg in over.call.args),
        where=None if over.call.where is None else transform(over.call.where, change),
    )
    return replace(over, call=call, spec=transform(over.spec, change))


def _has_aggregate(node: Node | None) -> bool:
    """Whether an aggregate of the group stands in it; one that OVER follows is not of the group."""
    if node is None:
        return False
    if isinstance(node, Over):
        return any(_has_aggregate(below) for below in (*children(node.call), *children(node.spec)))
    return is_aggregate(node) or any(_has_aggregate(below) for below in children(node))


def _group_keys(select: Select, items: tuple[Item, ...]) -> tuple[Expr, ...]:
    """GROUP BY may name an item by its number."""
    keys = (_group_key(expr, items) for expr in select.group_by)
    return tuple(dict.fromkeys(key for key in keys if select.window is None or not is_bound(key)))


def _group_key(expr: Expr, items: tuple[Item, ...]) -> Expr:
    if isinstance(expr, Literal) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
        return items[expr.value - 1].expr or expr
    return expr


def _emit_policy(select: Select) -> tuple[EmitPolicy, tuple[Expr, ...]]:
    """When groups emit: the defaults of SQL, EMIT, and triggers."""
    window, emit = select.window, select.emit
    if select.is_distinct and not select.group_by and window is None:
        return EmitPolicy(once=True), ()
    triggers = window.triggers if window else ()
    changes = isinstance(emit, EmitChanges) or (emit is None and window is None)
    per_batch = isinstance(emit, EmitChanges) and emit.is_per_batch
    on_close = isinstance(emit, EmitFinal) or (not changes and not triggers)
    on_close = on_close or any(isinstance(t, OnWatermark | OnSessionEnd) for t in triggers)
    when = tuple(t.predicate for t in triggers if isinstance(t, WhenRow))
    return (
        EmitPolicy(
            every_row=changes and not per_batch,
            per_batch=per_batch,
            on_close=on_close,
            every_records=next((t.count for t in triggers if isinstance(t, EveryRecords)), None),
            when=bool(when),
            interval=next((t.interval for t in triggers if isinstance(t, EveryInterval)), None),
        ),
        when,
    )


def _partial_shape(window: WindowClause | None, emit_policy: EmitPolicy) -> tuple[PartialShape, str]:
    """How rows reach the step, with the reason."""
    kind = window.kind if window else None
    by_row = emit_policy.by_row
    match kind:
        case CountedKind():
            return PartialShape.SINGLE, "ROWS windows count rows in arrival order"
        case MovingKind(max_length=limit) if by_row or limit is not None:
            return PartialShape.SINGLE, "every row may change its session's bounds" if by_row else "MAX cuts sessions row by row"
        case MovingKind():
            return PartialShape.SLICES, "rows less than a gap apart share a session, so gap-wide slices are safe partials"
        case _ if by_row:
            return PartialShape.RUNNING, "every row shows what it changed, in input order"
        case None:
            return PartialShape.WINDOWS, "one pane per group, for ever"
        case FixedKind(overlaps=True) if window is not None and isinstance(window.late, IncludeInNext) and lateness_of(window):
            return PartialShape.WINDOWS, "a row that moves to the next window must not correct those that share its slice"
        case FixedKind() if emit_policy == AT_CLOSE:
            return PartialShape.SLICES, "windows emit once, when they close: they are merged from slices then"
        case _:
            return PartialShape.WINDOWS, "windows emit before they close"


def _time(window: WindowClause | None) -> Expr | None:
    """The window's own time column; None for the stream's event time."""
    if window is None or not isinstance(window.time, EventTime) or window.time.column is None:
        return None
    column = window.time.column
    known = system_column(column.name) if isinstance(column, Column) else None
    return None if known is not None and known.name == "_event_time" else column


def _delay(window: WindowClause | None) -> int | None:
    """The delay the window states itself; None where the source's own applies."""
    match window.watermark if window else None:
        case BoundedOutOfOrderness(delay=delay):
            return delay
        case AscendingTimestamps() | Punctuated():
            return 0
        case None:
            return None


def _punctuation(window: WindowClause | None) -> Expr | None:
    match window.watermark if window else None:
        case Punctuated(predicate=predicate):
            return predicate
        case _:
            return None


def lateness_of(window: WindowClause | None) -> int:
    if window is None:
        return 0
    if window.allowed_lateness is not None:
        return window.allowed_lateness
    return window.kind.correction_span if isinstance(window.late, UpdatePrevious) else 0
