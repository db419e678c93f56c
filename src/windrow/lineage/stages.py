"""One stage: from the origins of what it reads to the origins of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from windrow.aggregates import takes_whole_rows
from windrow.lineage.flows import SYSTEM, Flow, merged
from windrow.lineage.graph import EdgeKind
from windrow.lineage.joins import joined, looked_up
from windrow.lineage.origins import NOTHING, Columns, Origins, deciding, of_over, origins_of, through
from windrow.lineage.table_queries import answer_of
from windrow.model import row_protocol
from windrow.model.constraint import judging
from windrow.model.expr import Expr, Slot, transform
from windrow.model.system import Origin as SystemOrigin
from windrow.model.system import system_column
from windrow.plan.explain_facts import with_calls_filled, with_slots_filled
from windrow.plan.explain_joins import as_written
from windrow.plan.selects import ROW_TIME
from windrow.plan.stages import (
    Aggregate,
    Expect,
    Explode,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    Item,
    LateRows,
    LookupJoin,
    OverAggregate,
    Stage,
    SubqueryLookup,
    TableSubquery,
    UnionAll,
    UpsertTable,
    WindowRows,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin

Flows = Mapping[str, Flow]
_TIME = row_protocol.EVENT_TIME
_BOUNDS = ("_window_start", "_window_end")


def flow_of(stage: Stage, flows: Flows, stages: Mapping[str, Stage]) -> Flow:
    """What a stage gives that makes rows of other stages' rows."""
    match stage:
        case FilterProject(input=before):
            return _projected(stage, flows[before].with_rows(_where(stage, flows[before])), {})
        case SubqueryLookup(input=before, subqueries=subqueries):
            given = flows[before]
            answers = _answers(subqueries, given.columns(), flows)
            asked = {**given.asked, **{each.slot: each.asked for each in subqueries}}
            return Flow(given.visible, {**given.hidden, **answers}, given.rows, given.texts, given.anything, asked)
        case Explode(input=before, args=args, columns=columns):
            given = flows[before]
            made = deciding(args, given.columns(), EdgeKind.TRANSFORMATION)
            more = {**given.visible, **dict.fromkeys(columns, made)}
            return Flow(more, given.hidden, given.rows | through(made, EdgeKind.FILTER), anything=given.anything)
        case Aggregate():
            return _aggregated(stage, flows)
        case WindowRows(input=windows, of=of):
            return _rows_of_windows(flows[of], flows[windows])
        case OverAggregate():
            return _over(stage, flows)
        case LookupJoin():
            return looked_up(stage, flows)
        case IntervalJoin() | AsofJoin() | WindowJoin():
            return joined(stage, flows)
        case LateRows(of=of):
            return _late(stages[of], flows)
        case UnionAll(parts=parts, columns=columns):
            return _united(tuple(flows[part] for part in parts), columns)
        case InsertUnion():
            return _inserted(stage, flows)
        case Expect(input=before, constraints=constraints):
            given = flows[before]
            conditions = tuple(each.condition for _, each in judging(constraints))
            return given.with_rows(deciding(conditions, given.columns(), EdgeKind.FILTER))
        case UpsertTable(input=before, key=key):
            given = flows[before]
            known = given.columns()
            keys = frozenset(origin for name in key for origin in known.of(name) or NOTHING)
            return Flow(given.visible, given.hidden, given.rows | through(keys, EdgeKind.GROUP_BY), given.texts)
        case _:
            raise AssertionError(f"{stage.name} makes no rows of other rows")


def _where(stage: FilterProject | OverAggregate | Aggregate, given: Flow) -> Origins:
    return deciding((stage.where,), given.columns(), EdgeKind.FILTER)


def _projected(
    stage: FilterProject | OverAggregate, given: Flow, slots: Mapping[str, Origins], text: Callable[[Expr], str] = as_written
) -> Flow:
    columns = given.columns(slots)
    visible, texts = _items(stage.output.items, given, columns, lambda expr: text(_with_subqueries(expr, given)))
    hidden = {**given.hidden, **_carried(stage, columns)}
    # An item called like a system column takes its place.
    hidden |= {name.lower(): origins for name, origins in visible.items() if name.lower() in given.hidden and name.startswith("_")}
    beside = stage.beside if isinstance(stage, FilterProject) else frozenset()
    shown = {name: origins for name, origins in visible.items() if name.lower() not in beside}
    rows = given.rows | _sorted(stage, columns)
    return Flow(shown, hidden, rows, texts, given.anything if any(item.expr is None for item in stage.output.items) else None)


def _with_subqueries(expr: Expr, given: Flow) -> Expr:
    """The subqueries themselves in the place of the columns that hold their answers."""
    return transform(expr, lambda node: given.asked.get(node.name) if isinstance(node, Slot) else None)


def _items(
    items: tuple[Item, ...], given: Flow, columns: Columns, text: Callable[[Expr], str]
) -> tuple[dict[str, Origins], dict[str, str]]:
    visible: dict[str, Origins] = {}
    texts: dict[str, str] = {}
    for item in items:
        if item.expr is None:
            visible.update(given.visible)
            continue
        visible[item.name] = origins_of(item.expr, columns)
        shown = text(item.expr)
        if shown.lower() != item.name.lower():
            texts[item.name] = shown
    return visible, texts


def _carried(stage: FilterProject | OverAggregate | Aggregate, columns: Columns) -> dict[str, Origins]:
    """The key and the headers of what goes out."""
    found: dict[str, Origins] = {}
    if stage.output.key is not None:
        found["_key"] = origins_of(stage.output.key, columns)
    if stage.output.headers:
        changed = deciding(
            [each for change in stage.output.headers for each in (change.key, change.value)], columns, EdgeKind.TRANSFORMATION
        )
        found["_headers"] = changed | (columns.of("_headers") or NOTHING)
    return found


def _sorted(stage: FilterProject | OverAggregate | Aggregate, columns: Columns) -> Origins:
    """With a LIMIT, the order decides which rows there are."""
    return deciding(stage.output.order_by, columns, EdgeKind.SORT)


def _answers(subqueries: tuple[TableSubquery, ...], columns: Columns, flows: Flows) -> dict[str, Origins]:
    return {subquery.slot: answer_of(subquery, columns, flows) for subquery in subqueries}


def _aggregated(stage: Aggregate, flows: Flows) -> Flow:
    given = flows[stage.input]
    before = given.columns()
    slots = {slot: origins_of(key, before) for slot, key in stage.keys}
    for item in stage.aggregates:
        found = origins_of(item.call, before)
        # COUNT(*), and what takes rows whole, speak of the rows themselves.
        is_of_rows = takes_whole_rows(item.call) or not found
        slots[item.slot] = found | (through(given.rows, EdgeKind.AGGREGATION) if is_of_rows else NOTHING)
    stated = stage.time.event_time
    arrival = "_timestamp" if stage.time.on_arrival else _TIME
    time = origins_of(stated, before) if stated is not None else before.of(arrival) or NOTHING
    if stage.starts_at is not None:
        time |= slots[stage.starts_at]
    bounds = dict.fromkeys(_BOUNDS, through(time, EdgeKind.WINDOW)) if stage.window is not None else {}
    hidden = {name: through(origins, EdgeKind.AGGREGATION) for name, origins in given.hidden.items()}
    hidden |= {**bounds, _TIME: through(time, EdgeKind.WINDOW), "_key": frozenset(o for slot, _ in stage.keys for o in slots[slot])}
    rows = given.rows | _where(stage, given) | deciding((key for _, key in stage.keys), before, EdgeKind.GROUP_BY)
    if stage.window is not None:
        rows |= through(time, EdgeKind.WINDOW) | deciding((stage.since, stage.time.punctuation), before, EdgeKind.WINDOW)
    rows |= deciding(stage.when, before, EdgeKind.CONDITIONAL)
    whole = Flow(given.visible, hidden, rows, anything=given.anything)
    slots |= _answers(stage.subqueries, whole.columns(slots), flows)
    return _finished(stage, whole, slots, bool(bounds))


def _finished(stage: Aggregate, given: Flow, slots: dict[str, Origins], has_window: bool) -> Flow:
    of_emission = dict.fromkeys(("_emission", "_revision"), through(given.rows, EdgeKind.AGGREGATION))
    given = replace(given, hidden={**given.hidden, **of_emission})
    columns = given.columns(slots)
    visible, texts = _items(stage.output.items, given, columns, lambda expr: as_written(with_slots_filled(stage, expr)))
    hidden = {**given.hidden, **_carried(stage, columns)}
    rows = given.rows | deciding((stage.having,), columns, EdgeKind.FILTER) | _sorted(stage, columns)
    emitted = {name for name in SYSTEM if _is_there(name, has_window)}
    return Flow(visible, {name: origins for name, origins in hidden.items() if name in emitted or name not in SYSTEM}, rows, texts)


def _is_there(name: str, has_window: bool) -> bool:
    """Whether an emission has a system column."""
    found = system_column(name)
    return has_window or found is None or found.origin is not SystemOrigin.WINDOW


def _rows_of_windows(rows: Flow, windows: Flow) -> Flow:
    """The rows again, each with the bounds of its window; it keeps its own time under another name."""
    hidden = {**rows.hidden, ROW_TIME: rows.columns().of(_TIME) or NOTHING}
    hidden |= {name: windows.hidden[name] for name in (*_BOUNDS, _TIME, "_emission", "_revision") if name in windows.hidden}
    return Flow(rows.visible, hidden, windows.rows, anything=rows.anything)


def _over(stage: OverAggregate, flows: Flows) -> Flow:
    given = flows[stage.input].with_rows(_where(stage, flows[stage.input]))
    before = given.columns()
    slots: dict[str, Origins] = {}
    for group in stage.over_calls:
        keys = deciding(group.partition_by, before, EdgeKind.GROUP_BY)
        for slot, over in group.calls:
            found = of_over(over, before) | keys
            is_of_rows = not any(kind.is_direct for _, kind in found)
            slots[slot] = found | (through(given.rows, EdgeKind.AGGREGATION) if is_of_rows else NOTHING)
    slots |= _answers(stage.subqueries, given.columns(slots), flows)
    qualified = given.with_rows(deciding((stage.qualify,), given.columns(slots), EdgeKind.FILTER))
    return _projected(stage, qualified, slots, lambda expr: as_written(with_calls_filled(stage, expr)))


def _late(stage: Stage, flows: Flows) -> Flow:
    """Rows that came too late for a statement's windows are those it reads, as its time judges them."""
    assert isinstance(stage, Aggregate), "only windows have rows that come too late"
    given = flows[stage.input]
    columns = given.columns()
    time = origins_of(stage.time.event_time, columns) if stage.time.event_time is not None else columns.of(_TIME) or NOTHING
    return Flow(given.visible, given.hidden, given.rows | _where(stage, given) | through(time, EdgeKind.WINDOW), anything=given.anything)


def _united(parts: tuple[Flow, ...], columns: tuple[str, ...]) -> Flow:
    """Matched by position under the names of the first."""
    names = columns or tuple(parts[0].visible)
    by_place = [dict(zip(names, part.visible.values(), strict=False)) for part in parts]
    anything = next((part.anything for part in parts if part.anything is not None), None)
    rows = frozenset(origin for part in parts for origin in part.rows)
    return Flow(merged(by_place), merged(part.hidden for part in parts), rows, anything=anything)


def _inserted(stage: InsertUnion, flows: Flows) -> Flow:
    visible: dict[str, Origins] = {column.name: NOTHING for column in stage.columns}
    for inlet in stage.inlets:
        columns = flows[inlet.input].columns()
        for column, given in zip(stage.columns, inlet.columns, strict=True):
            if given is not None:
                visible[column.name] |= columns.of(given) or NOTHING
    parts = [flows[inlet.input] for inlet in stage.inlets]
    hidden = merged(part.hidden for part in parts)
    if stage.time.column is not None:
        stated = next((origins for name, origins in visible.items() if name.lower() == stage.time.column.lower()), NOTHING)
        hidden[_TIME] = through(stated, EdgeKind.TRANSFORMATION)
    return Flow(visible, hidden, frozenset(origin for part in parts for origin in part.rows))
