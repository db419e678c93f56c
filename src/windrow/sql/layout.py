"""Queries back to text: one string per clause, in the order the contract gives them."""

from __future__ import annotations

from typing import assert_never

from windrow.model.options import Options
from windrow.model.query import (
    DerivedSource,
    Emit,
    EmitChanges,
    EmitFinal,
    Join,
    JoinKind,
    LateralView,
    NamedSource,
    Query,
    Select,
    SelectItem,
    Source,
    Union,
    Within,
)
from windrow.model.window import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    DeadLetterLate,
    DropLate,
    EventTime,
    EveryInterval,
    EveryRecords,
    IncludeInNext,
    LateStrategy,
    OnSessionEnd,
    OnWatermark,
    ProcessingTime,
    Punctuated,
    TimeDomain,
    Trigger,
    UpdatePrevious,
    WatermarkKind,
    WhenRow,
    WindowClause,
)
from windrow.model.window_kinds import CountedKind, FixedKind, MovingKind, WindowKind
from windrow.sql.durations import show_duration
from windrow.sql.render import render_expr, render_predicate, render_sort_key
from windrow.sql.words import quote_name, quote_string

_WIDTH = 100


def query_lines(query: Query) -> list[str]:
    """The clauses of a query; joined by spaces or by line ends they read the same."""
    lines = []
    if query.ctes:
        tables = [f"{quote_name(table.name)} AS ({_inline(table.query)})" for table in query.ctes]
        lines.append("WITH " + ", ".join(tables))
    if isinstance(query, Select):
        return lines + _select_lines(query)
    left = _union_operand(query.left, is_left=True)
    return [*lines, *left, "UNION ALL" if query.is_all else "UNION", *_union_operand(query.right, is_left=False)]


def render_options(options: Options) -> str:
    """WITH and its list; on lines of their own when they do not fit one."""
    entries = [f"{quote_string(option.key)} = {quote_string(option.value)}" for option in options]
    line = f"WITH ({', '.join(entries)})"
    return line if len(line) <= _WIDTH else "WITH (\n  " + ",\n  ".join(entries) + "\n)"


def _inline(query: Query) -> str:
    return " ".join(query_lines(query))


def _union_operand(query: Query, is_left: bool) -> list[str]:
    if isinstance(query, Union):
        needs = bool(query.ctes) or not is_left
    else:
        needs = bool(query.ctes or query.order_by or query.limit is not None or query.emit or query.options)
    return [f"({_inline(query)})"] if needs else query_lines(query)


def _select_lines(select: Select) -> list[str]:
    head = "SELECT DISTINCT" if select.is_distinct else "SELECT"
    items = [_item(item) for item in select.items]
    line = f"{head} {', '.join(items)}"
    lines = [line if len(line) <= _WIDTH else f"{head}\n  " + ",\n  ".join(items)]
    if select.source is not None:
        lines.append(f"FROM {_source(select.source)}")
    lines += [_join(join) for join in select.joins]
    lines += [_lateral_view(view) for view in select.lateral_views]
    if select.where is not None:
        lines.append(f"WHERE {render_expr(select.where)}")
    if select.group_by:
        lines.append(f"GROUP BY {', '.join(map(render_expr, select.group_by))}")
    if select.window is not None:
        lines.append(render_window(select.window))
    if select.having is not None:
        lines.append(f"HAVING {render_expr(select.having)}")
    if select.qualify is not None:
        lines.append(f"QUALIFY {render_expr(select.qualify)}")
    if select.order_by:
        lines.append(f"ORDER BY {', '.join(map(render_sort_key, select.order_by))}")
    if select.limit is not None:
        lines.append(f"LIMIT {select.limit}")
    if select.emit is not None:
        lines.append(_emit(select.emit))
    if select.options:
        lines.append(render_options(select.options))
    return lines


def _item(item: SelectItem) -> str:
    alias = "" if item.alias is None else f" AS {quote_name(item.alias)}"
    return render_expr(item.expr) + alias + (" PRIMARY KEY" if item.is_primary_key else "")


def _source(source: Source) -> str:
    alias = "" if source.alias is None else f" AS {quote_name(source.alias)}"
    match source:
        case NamedSource(name=name, as_of=as_of, is_history=is_history):
            return (
                ("HISTORY OF " if is_history else "")
                + quote_name(name)
                + ("" if as_of is None else f" FOR SYSTEM_TIME AS OF {render_expr(as_of)}")
                + alias
            )
        case DerivedSource(query=query):
            return f"({_inline(query)}){alias}"
        case _:
            assert_never(source)


def _join(join: Join) -> str:
    kind = [] if join.kind is JoinKind.INNER else [join.kind.value]
    words = [*kind, *(["ASOF"] if join.is_asof else []), "JOIN", _source(join.source)]
    if join.within is not None:
        words.append(_within(join.within))
    if join.on is not None:
        words.append(f"ON {render_expr(join.on)}")
    if join.using:
        words.append(f"USING ({', '.join(map(quote_name, join.using))})")
    return " ".join(words)


def _within(within: Within) -> str:
    before, after = show_duration(within.before), show_duration(within.after)
    return f"WITHIN {before}" if before == after else f"WITHIN ({before}, {after})"


def _lateral_view(view: LateralView) -> str:
    words = ["LATERAL VIEW OUTER" if view.is_outer else "LATERAL VIEW", render_expr(view.call)]
    if view.alias is not None:
        words.append(quote_name(view.alias))
    if view.columns:
        words.append(f"AS {', '.join(map(quote_name, view.columns))}")
    return " ".join(words)


def _emit(emit: Emit) -> str:
    match emit:
        case EmitFinal():
            return "EMIT FINAL"
        case EmitChanges(is_per_batch=is_per_batch):
            return "EMIT CHANGES PER BATCH" if is_per_batch else "EMIT CHANGES"
        case _:
            assert_never(emit)


def render_window(window: WindowClause) -> str:
    """The WINDOW clause in its one canonical spelling."""
    words = [f"WINDOW {_kind(window.kind)}", *_time(window.time)]
    if window.watermark is not None:
        words.append(f"WITH WATERMARK {_watermark(window.watermark)}")
    if window.triggers:
        words.append(f"TRIGGER {' OR '.join(map(_trigger, window.triggers))}")
    if window.allowed_lateness is not None:
        words.append(f"ALLOWED_LATENESS {show_duration(window.allowed_lateness)}")
    if window.late is not None:
        words.append(f"LATE_DATA_STRATEGY {_late(window.late)}")
    return " ".join(words)


def _kind(kind: WindowKind) -> str:
    arguments = [show_duration(getattr(kind, name)) for name in kind.lengths]
    match kind:
        case FixedKind(offset=offset) if offset:
            arguments.append(f"OFFSET {show_duration(offset)}")
        case MovingKind(max_length=longest) if longest is not None:
            arguments.append(f"MAX {show_duration(longest)}")
        case CountedKind(count=count):
            arguments.append(str(count))
    return f"{kind.word}({', '.join(arguments)})"


def _time(time: TimeDomain) -> list[str]:
    match time:
        case EventTime(column=column):
            return [] if column is None else [f"ON EVENT_TIME({render_expr(column)})"]
        case ProcessingTime():
            return ["ON PROCESSING_TIME()"]
        case _:
            assert_never(time)


def _watermark(watermark: WatermarkKind) -> str:
    match watermark:
        case BoundedOutOfOrderness(delay=delay):
            return f"BOUNDED_OUT_OF_ORDERNESS({show_duration(delay)})"
        case AscendingTimestamps():
            return "ASCENDING_TIMESTAMPS"
        case Punctuated(predicate=predicate):
            return f"PUNCTUATED({render_expr(predicate)})"
        case _:
            assert_never(watermark)


def _trigger(trigger: Trigger) -> str:
    match trigger:
        case OnWatermark():
            return "ON WATERMARK"
        case OnSessionEnd():
            return "ON SESSION_END"
        case EveryInterval(interval=interval):
            return f"EVERY {show_duration(interval)}"
        case EveryRecords(count=count):
            return f"EVERY {count} RECORDS"
        case WhenRow(predicate=predicate):
            return f"WHEN {render_predicate(predicate)}"
        case _:
            assert_never(trigger)


def _late(late: LateStrategy) -> str:
    match late:
        case DeadLetterLate(into=into):
            return "DEAD_LETTER" if into is None else f"DEAD_LETTER INTO {quote_name(into)}"
        case DropLate():
            return "DROP"
        case IncludeInNext():
            return "INCLUDE_IN_NEXT"
        case UpdatePrevious():
            return "UPDATE_PREVIOUS"
        case _:
            assert_never(late)
