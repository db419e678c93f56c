"""What there is to say about a stage, in the words of a newcomer: a title and labelled facts, made from the stage itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from windrow.connectors.outage_options import WAIT
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionSpec
from windrow.model.constraint import Constraint, OnViolation
from windrow.model.expr import Expr, Node, Slot, transform
from windrow.model.policies import FieldPolicy, LateAtSource, MissingTime, RowPolicy
from windrow.model.window import DeadLetterLate, DropLate, IncludeInNext, UpdatePrevious
from windrow.model.window_kinds import CountedKind, WindowKind
from windrow.plan.explain_joins import explode_facts, lookup_join_facts, subquery_lookup_facts, table_facts
from windrow.plan.explain_stream_joins import stream_join_facts
from windrow.plan.own_times import GIVEN_TIME
from windrow.plan.stages import (
    Aggregate,
    Expect,
    Explode,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    Item,
    Job,
    LateRows,
    LoadTable,
    LookupJoin,
    Output,
    OverAggregate,
    Read,
    Stage,
    SubqueryLookup,
    TableSubquery,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.sql import render_expr
from windrow.sql.durations import show_duration
from windrow.sql.render import render_sort_key

HIDDEN = "***"
# What becomes of a row, by the word of the option that decides it.
_ENDS: dict[RowPolicy | MissingTime, str] = {
    RowPolicy.DEAD_LETTER: "a dead letter",
    RowPolicy.DROP: "dropped and counted",
    RowPolicy.FAIL: "the job stops",
    MissingTime.ARRIVAL: "stamped with its arrival time",
}

_VIOLATIONS = {
    OnViolation.DEAD_LETTER: "a dead letter",
    OnViolation.DROP: "dropped and counted",
    OnViolation.WARN: "counted, and the row goes on",
    OnViolation.FAIL: "the job stops before anything of the batch is written",
}
_TOLD_ELSEWHERE = {"event.time.field", "event.time.format", "bad.rows", "bad.fields"}


@dataclass(frozen=True)
class Facts:
    """``kind`` is the stage's verb, ``title`` what it acts on; ``lines`` are (label, text) in reading order."""

    kind: str
    title: str
    lines: tuple[tuple[str, str], ...]


def facts_of(stage: Stage, job: Job) -> Facts:
    match stage:
        case Read():
            return Facts("read", stage.name, tuple(_read(stage)))
        case FilterProject():
            return Facts("filter and project", stage.name, tuple(_derive(stage)))
        case Explode():
            return Facts("explode", stage.name, tuple(explode_facts(stage)))
        case SubqueryLookup():
            return Facts("look up subqueries", stage.name, tuple(subquery_lookup_facts(stage)))
        case Aggregate():
            return Facts("aggregate", stage.name, tuple(_aggregate(stage, job)))
        case WindowRows(name=name, input=input_name, reason=reason):
            return Facts("window rows", name, (("rows", f"those of {input_name}, with the bounds of their windows"), ("why", reason)))
        case OverAggregate():
            return Facts("over aggregate", stage.name, tuple(_over_facts(stage)))
        case LoadTable():
            return Facts("load table", stage.name, (*_options(stage.read), *table_facts(stage)))
        case LookupJoin():
            return Facts("lookup join", stage.name, tuple(lookup_join_facts(stage)))
        case IntervalJoin() | AsofJoin() | WindowJoin():
            return Facts("join", stage.name, tuple(stream_join_facts(stage)))
        case LateRows(name=name, of=of, reason=reason):
            return Facts("late rows", name, (("rows", f"those that came too late for every window of {of}"), ("why", reason)))
        case UnionAll(name=name, parts=parts, reason=reason):
            return Facts("union all", name, (("parts", ", ".join(parts)), ("why", reason)))
        case InsertUnion():
            return Facts("insert union", stage.name, tuple(_collect(stage)))
        case Expect():
            return Facts("expect", stage.name, (*_expected(stage.constraints), ("why", stage.reason)))
        case UpsertTable():
            return Facts("upsert table", stage.name, tuple(_keep_latest(stage)))
        case Write(input=name, connector=connector, reason=reason, outage=outage):
            away = [("when away", outage.describe())] if outage.policy != WAIT else []
            lines = [("connector", _connector(connector)), *_options(stage), *away, ("why", reason)]
            return Facts("write", f"{name} to {connector}", tuple(lines))
        case _:
            assert_never(stage)


def shown_options(stage: Read | Write) -> dict[str, str]:
    """The connector's options as they may be printed: secrets are not."""
    spec = CONNECTORS[stage.connector]
    known = spec.source if isinstance(stage, Read) else spec.sink
    return {key: HIDDEN if _is_secret(key, known or ()) else value for key, value in stage.options}


def _spec(key: str, specs: tuple[OptionSpec, ...]) -> OptionSpec | None:
    wanted = key.lower()
    prefixed = (spec for spec in specs if spec.key.endswith(".*") and wanted.startswith(spec.key[:-1].lower()))
    return next((spec for spec in specs if spec.key.lower() == wanted), None) or next(prefixed, None)


def _is_secret(key: str, specs: tuple[OptionSpec, ...]) -> bool:
    spec = _spec(key, specs)
    return spec is not None and spec.is_secret


def with_slots_filled(stage: Aggregate, expr: Expr) -> Expr:
    """An expression over finished groups as the user wrote it: keys and aggregate calls instead of the planner's columns."""
    meaning: dict[str, Node] = {**dict(stage.keys), **{item.slot: item.call for item in stage.aggregates}}
    return _put_back(expr, meaning, stage.subqueries)


def with_calls_filled(stage: OverAggregate, expr: Expr) -> Expr:
    """The same of rows with what OVER found: the calls instead of the planner's columns."""
    return _put_back(expr, {slot: over for group in stage.over_calls for slot, over in group.calls}, stage.subqueries)


def _put_back(expr: Expr, meaning: dict[str, Node], subqueries: tuple[TableSubquery, ...]) -> Expr:
    def change(node: Node) -> Node | None:
        return meaning.get(node.name) if isinstance(node, Slot) else None

    for subquery in subqueries:
        meaning[subquery.slot] = transform(subquery.asked, change)
    return transform(expr, change)


def _show_item(item: Item) -> str:
    if item.expr is None:
        return "*"
    text = render_expr(item.expr)
    return text if text.lower() == item.name.lower() else f"{text} AS {item.name}"


def show_window(window: WindowKind) -> str:
    return window.describe(show_duration)


def _connector(name: str) -> str:
    return f"{name} ({CONNECTORS[name].summary})"


def _options(stage: Read | Write) -> Iterator[tuple[str, str]]:
    """Options that differ from their defaults and that no other line tells."""
    spec = CONNECTORS[stage.connector]
    known = (spec.source if isinstance(stage, Read) else spec.sink) or ()
    defaults = {option.key: option.default for option in known}
    told = {key: value for key, value in shown_options(stage).items() if value != defaults.get(key) and key not in _TOLD_ELSEWHERE}
    if told:
        yield "options", ", ".join(f"{key} = {value}" for key, value in told.items())


def _read(stage: Read) -> Iterator[tuple[str, str]]:
    yield "connector", _connector(stage.connector)
    if stage.columns:
        yield "columns", ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in stage.columns)
    yield from _options(stage)
    yield "event time", _event_time(stage)
    yield "future", f"more than {show_duration(stage.time.max_future)} ahead of the arrival: a dead letter, and the watermark does not move"
    yield "watermark", _watermark(stage)
    bad_field = "NULL where the column allows it" if stage.bad_fields is FieldPolicy.NULL else _ENDS[RowPolicy.DEAD_LETTER]
    yield "bad rows", f"{_ENDS[stage.bad_rows]}; a bad field alone: {bad_field}"
    yield from _expected(stage.constraints)
    if stage.time_zone != "UTC":
        yield "time zone", stage.time_zone


def _expected(constraints: tuple[Constraint, ...]) -> Iterator[tuple[str, str]]:
    for each in constraints:
        yield "expects", f"{render_expr(each.condition)} ({each.name}), else: {_VIOLATIONS[each.on_violation]}"


def _event_time(stage: Read) -> str:
    time = stage.time
    if time.column is None:
        return "the time of the record, else of its arrival (no event.time.field is given)"
    how = time.format or "format found by itself"
    return f"column {time.column} ({how}); missing or unreadable: {_ENDS[time.on_missing]}"


def _watermark(stage: Read) -> str:
    clock = stage.clock
    stated = CONNECTORS[stage.connector].watermark
    text = stated or f"{show_duration(clock.delay)} behind the greatest event time of each partition, the least of them counts"
    if clock.idle_timeout is not None:
        text += f"; a partition silent for {show_duration(clock.idle_timeout)} does not hold it back"
    if clock.late_rows is not LateAtSource.PROCESS:
        text += f"; rows behind it: {'a warning' if clock.late_rows is LateAtSource.WARN else 'dropped and counted'}"
    return text


def _derive(stage: FilterProject) -> Iterator[tuple[str, str]]:
    yield from _where(stage.where)
    yield "columns", _columns(stage.output)
    yield from _closing(stage, stage.output)
    yield "why", stage.reason


def _over_facts(stage: OverAggregate) -> Iterator[tuple[str, str]]:
    yield from _where(stage.where)
    for group in stage.over_calls:
        of = ", ".join(render_expr(key) for key in group.partition_by)
        kept = "every row" if group.buffer is None else f"the last {group.buffer} rows"
        yield "keeps", f"{kept} of each {of}" if of else f"{kept} of the stream"
    if stage.qualify is not None:
        yield "qualify", render_expr(with_calls_filled(stage, stage.qualify))
    output = stage.output.changed(lambda expr: with_calls_filled(stage, expr))
    yield "columns", _columns(output)
    yield from _closing(stage, output)
    yield "why", stage.reason


def _collect(stage: InsertUnion) -> Iterator[tuple[str, str]]:
    yield "columns", ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in stage.columns)
    for inlet in stage.inlets:
        values = ", ".join("NULL" if name is None else name for name in inlet.columns)
        yield "takes", f"{values} of {inlet.input}"
    if stage.time.column is not None:
        yield "event time", f"column {stage.time.column} ({stage.time.format or 'format found by itself'})"
    yield "why", stage.reason


def _keep_latest(stage: UpsertTable) -> Iterator[tuple[str, str]]:
    yield "key", ", ".join(stage.key) or "none: there is one row"
    yield "columns", ", ".join(f"{column.name} {column.type}" for column in stage.columns)
    yield "remembers", "a row for ever" if stage.ttl is None else f"a row until {show_duration(stage.ttl)} pass without one of its key"
    yield "read by", "joins see it as it stands after the rows of the batch they are in"
    yield "why", stage.reason


def _where(where: Expr | None) -> Iterator[tuple[str, str]]:
    if where is not None:
        yield "filter", render_expr(where)


def _columns(output: Output) -> str:
    return ", ".join(_show_item(item) for item in output.items)


def _closing(stage: FilterProject | Aggregate | OverAggregate, output: Output) -> Iterator[tuple[str, str]]:
    if output.key is not None:
        yield "key", render_expr(output.key)
    if output.order_by:
        yield "order", ", ".join(render_sort_key(each) for each in output.order_by)
    if output.limit is not None:
        yield "limit", f"{output.limit} rows over the life of the stream"
    if stage.is_strict:
        yield "errors", "a division by zero or an impossible cast stops the job"


def _aggregate(stage: Aggregate, job: Job) -> Iterator[tuple[str, str]]:
    yield from _where(stage.where)
    keys = [render_expr(key) for name, key in stage.keys if name != stage.starts_at]
    yield "group by", ", ".join(keys) or "nothing: one group over the whole stream"
    yield "aggregates", ", ".join(dict.fromkeys(render_expr(item.call) for item in stage.aggregates)) or "none"
    if stage.window is not None:
        yield "window", show_window(stage.window) if stage.starts_at is None else f"the window of each pair, as {stage.input} gives it"
        yield "event time", _window_time(stage, job)
        yield "watermark", _window_watermark(stage, job)
    yield "partials", f"{stage.partial_shape.value}, because {stage.reason}"
    yield "emits", "; ".join(emissions(stage))
    if stage.is_exact:
        yield "judges", "each row by the rows before it in its own partition, however they are cut into batches"
    if stage.window is not None:
        yield "late rows", _late(stage)
    yield "remembers", _memory(stage)
    if stage.having is not None:
        yield "having", render_expr(with_slots_filled(stage, stage.having))
    output = stage.output.changed(lambda expr: with_slots_filled(stage, expr))
    yield "columns", _columns(output)
    yield from _closing(stage, output)


def _window_time(stage: Aggregate, job: Job) -> str:
    if stage.time.on_arrival:
        return "the arrival of each row"
    if stage.time.event_time == GIVEN_TIME:
        return f"that which {stage.input} gives its rows, with a watermark of its own"
    if stage.time.event_time is not None:
        return f"{render_expr(stage.time.event_time)}, named by the window"
    origin = _origin(stage, job)
    if isinstance(origin, Aggregate) and origin.window is not None:
        return f"the window end of {origin.name}"
    if isinstance(origin, Read) and origin.time.column is not None:
        return f"that of {origin.name}: column {origin.time.column}"
    return f"that of {stage.input}"


def _window_watermark(stage: Aggregate, job: Job) -> str:
    if stage.time.on_arrival:
        return "the arrival clock"
    if stage.time.punctuation is not None:
        return f"moved only by rows with {render_expr(stage.time.punctuation)}"
    if stage.time.delay is not None:
        return f"{show_duration(stage.time.delay)} behind the greatest event time, stated by the window"
    origin = _origin(stage, job)
    if isinstance(origin, Read):
        stated = CONNECTORS[origin.connector].watermark
        return f"that of {origin.name}: {stated or f'{show_duration(origin.clock.delay)} behind the greatest event time'}"
    return f"that of {stage.input}"


def _origin(stage: Stage, job: Job) -> Stage:
    """The stage that gives a stage's rows their event time: filters and projections hand it on."""
    by_name = {each.name: each for each in job.stages}
    current = by_name.get(stage.inputs[0])
    while isinstance(current, SubqueryLookup | Explode | Expect) or (
        isinstance(current, FilterProject) and not any(i.name.lower() == "_event_time" for i in current.output.items)
    ):
        current = by_name.get(current.input)
    return current or stage


def emissions(stage: Aggregate) -> list[str]:
    """When groups emit, one entry for each occasion; the word in brackets is the emission's ``_emission``."""
    emit_policy = stage.emit_policy
    end = "the watermark reaches the end of the window" if stage.window is not None else "a bounded input ends"
    if isinstance(stage.window, CountedKind):
        end = "the window is full"
    occasions = {
        "each group once, when its first row comes (change)": emit_policy.once,
        "the updated group after every row (change)": emit_policy.every_row,
        "each updated group once a micro-batch (change)": emit_policy.per_batch,
        f"every {emit_policy.every_records} rows (early)": emit_policy.every_records is not None,
        f"every {show_duration(emit_policy.interval or 0)} of the arrival clock (early)": emit_policy.interval is not None,
        f"when a row has {' or '.join(map(render_expr, stage.when))} (early)": emit_policy.when,
        f"once, when {end} (final)": emit_policy.on_close,
    }
    return [text for text, holds in occasions.items() if holds]


def _late(stage: Aggregate) -> str:
    lateness = show_duration(stage.lateness)
    kept = f"up to {lateness} after the end of its window a row corrects it (late, next _revision); later: " if stage.lateness else ""
    match stage.late:
        case DeadLetterLate(into=None) | UpdatePrevious():
            return f"{kept}a dead letter, if no window takes it"
        case DeadLetterLate(into=into):
            return f"{kept}into the stream {into}, if no window takes it"
        case DropLate():
            return f"{kept}dropped and counted, if no window takes it"
        case IncludeInNext():
            return f"{kept}counted into the earliest open window of its group"
        case _:
            assert_never(stage.late)


def _memory(stage: Aggregate) -> str:
    if stage.window is None:
        return "every group, for ever" if stage.ttl is None else f"a group until {show_duration(stage.ttl)} pass without a row of it"
    if isinstance(stage.window, CountedKind):
        return "the rows of a window until it is full"
    extra = f" plus {show_duration(stage.lateness)}" if stage.lateness else ""
    return f"a window until the watermark reaches its end{extra}"
