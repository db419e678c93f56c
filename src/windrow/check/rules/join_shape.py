"""WR290: joins that the dialect has and the engine does not run yet."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.scope import Binding
from windrow.check.blocks import Block, Context
from windrow.check.rules.join_bound import bound_of, is_bounded
from windrow.errors import Diagnostic
from windrow.model.expr import Expr
from windrow.model.query import EmitChanges, Join, JoinKind, NamedSource
from windrow.model.statement import CreateTableAs
from windrow.model.window import (
    DeadLetterLate,
    DropLate,
    EventTime,
    IncludeInNext,
    LateStrategy,
    UpdatePrevious,
    WindowClause,
)
from windrow.model.window_kinds import CountedKind, FixedKind, MovingKind

_FROM_TABLE = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.CROSS)
_TO_TABLE = (JoinKind.INNER, JoinKind.LEFT, JoinKind.CROSS)


def join_shape(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        if block.outer is None and block.select.source is not None:
            yield from _judge(context, block)


def _judge(context: Context, block: Block) -> Iterator[Diagnostic]:
    select, bindings = block.select, block.scopes.rows.bindings[: len(block.select.joins) + 1]
    if not all(map(context.may_judge, bindings)):
        return
    if all(binding.kind == "table" for binding in bindings):
        if block.is_outermost and not _reads_changes(block):
            yield _gap("a query that reads only tables is", block, None, "join the table to a stream")
        return
    joins = list(zip(select.joins, bindings[1:], strict=True))
    if bindings[0].kind == "table":
        join, right = joins.pop(0)
        if join.is_asof:
            return  # refused as such
        if right.kind == "table" or join.kind not in _FROM_TABLE:
            yield _gap(f"{join.kind.value} JOIN from a table is", block, join, "write the stream first: FROM stream LEFT JOIN table")
            return
    for join, right in joins:
        if right.kind == "table":
            if join.kind not in _TO_TABLE:
                hint = "use LEFT JOIN: a table has no end at which a row of it could be called unmatched"
                yield _gap(f"{join.kind.value} JOIN of a stream to a table is", block, join, hint)
        elif not join.is_asof:
            yield from _judge_streams(block, join, right)


def _reads_changes(block: Block) -> bool:
    """A table that a query makes can be read by itself: its rows are those of the query, as they come."""
    source = block.select.source
    if not block.is_outermost or block.select.joins or not isinstance(source, NamedSource):
        return False
    relation = block.scopes.names.relation(source.name)
    return relation is not None and isinstance(relation.defined_by, CreateTableAs)


def _judge_streams(block: Block, join: Join, right: Binding) -> Iterator[Diagnostic]:
    scope = block.scopes.rows
    conditions = [expr for expr in (join.on, block.select.where) if expr is not None]
    usable = _usable(conditions, join, block)
    if join.within is not None or bound_of(usable, right, scope) is not None:
        return
    if block.select.window is not None and not is_bounded(conditions, right, scope):
        yield from _judge_window(block, join, right)
    elif is_bounded(conditions, right, scope):
        hint = f"write {right.name}.t BETWEEN a.t - INTERVAL '5' SECOND AND a.t + INTERVAL '5' SECOND in ON, or WITHIN 5s"
        yield _gap("a time bound of this form is", block, join, hint)


def joins_inside_windows(block: Block) -> bool:
    """Whether the window bounds a join of two streams: that has something to put out without any aggregate."""
    select, scope = block.select, block.scopes.rows
    bindings = scope.bindings[: len(select.joins) + 1]
    if select.window is None or not select.joins or not all(binding.is_known for binding in bindings):
        return bool(select.joins)
    streams = [(join, right) for join, right in zip(select.joins, bindings[1:], strict=True) if right.kind != "table" and not join.is_asof]
    conditions = [(join, right, [expr for expr in (join.on, select.where) if expr is not None]) for join, right in streams]
    is_inside = (join.within is None and not is_bounded(found, right, scope) for join, right, found in conditions)
    return bindings[0].kind != "table" and any(is_inside)


def _judge_window(block: Block, join: Join, right: Binding) -> Iterator[Diagnostic]:
    """Rows join inside windows. Those that move with their rows, and those in which a row can meet nothing, are joined as they close."""
    select, window = block.select, block.select.window
    assert window is not None
    is_grouped = block.scopes.is_aggregate or select.is_distinct
    hint = f"bound the join: JOIN {right.name} WITHIN 10s ON ..."
    if isinstance(window.kind, CountedKind):
        message = "rows of two streams cannot join inside windows whose bounds the rows themselves make by their number"
        yield Diagnostic("WR250", message, join.span or join.source.span, hint)
        return
    if _says_when(window, is_grouped):
        message = "a join without an aggregate puts out the pairs of a window once: there is nothing to correct"
        leave = "add an aggregate, or leave out TRIGGER, ALLOWED_LATENESS and WITH WATERMARK; late rows can be DEAD_LETTER or DROP"
        yield Diagnostic("WR240", message, window.span or join.span, leave)
        return
    is_outer = any(each.kind not in (JoinKind.INNER, JoinKind.CROSS) for each in select.joins)
    if not isinstance(window.kind, FixedKind) or (window.kind.overlaps and (is_outer or not is_grouped)):
        yield from (_gap(what, block, join, hint) for what in _not_as_they_close(block, window))


def _not_as_they_close(block: Block, window: WindowClause) -> Iterator[str]:
    """What cannot be said of a join whose windows are joined as they close."""
    kind = "sessions" if isinstance(window.kind, MovingKind) else f"{window.kind.word.lower()} windows"
    bindings = block.scopes.rows.bindings[: len(block.select.joins) + 1]
    if sum(binding.kind == "stream" for binding in bindings) > 2:
        yield f"a join of more than two streams that comes out as {kind} close is"
    if isinstance(window.kind, MovingKind) and window.kind.max_length is not None:
        yield "a join inside sessions with MAX is"
    if isinstance(block.select.emit, EmitChanges) or window.triggers:
        yield f"a join inside {kind} that comes out before they close is"
    if window.time != EventTime() or window.watermark is not None:
        yield f"a join inside {kind} by another time than the event time of the streams is"
    if window.late not in (None, DeadLetterLate(), DropLate()) and not isinstance(window.late, UpdatePrevious):
        yield f"LATE_DATA_STRATEGY {_strategy(window.late)} for a join inside {kind} is"


def _strategy(late: LateStrategy | None) -> str:
    return "INCLUDE_IN_NEXT" if isinstance(late, IncludeInNext) else "DEAD_LETTER INTO a stream"


def _says_when(window: WindowClause, is_grouped: bool) -> bool:
    """Pairs that nothing is made of come out once: there is nothing to correct."""
    if is_grouped:
        return False
    sets_aside = window.late in (None, DeadLetterLate(), DropLate())
    return bool(window.triggers or window.allowed_lateness or window.watermark) or not sets_aside


def _usable(conditions: list[Expr], join: Join, block: Block) -> list[Expr]:
    """WHERE bounds a join only where no join is an outer one: it is asked of rows after all of them."""
    if all(each.kind in (JoinKind.INNER, JoinKind.CROSS) for each in block.select.joins):
        return conditions
    return [] if join.on is None else [join.on]


def _gap(what: str, block: Block, join: Join | None, hint: str) -> Diagnostic:
    span = block.select.span if join is None else join.span or join.source.span
    return Diagnostic("WR290", f"{what} not supported yet", span, hint)
