"""WR246: ASOF JOIN finds the newest earlier row, so its condition says what is equal and which time is the earlier one."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.asof import AsofCondition, TimeOrder, event_time_field, read_asof
from windrow.catalog.relation import WithCommonTables
from windrow.catalog.scope import Binding, Resolved
from windrow.catalog.time_bounds import conjuncts
from windrow.catalog.typing import infer
from windrow.check.blocks import Block, Context
from windrow.check.rules.join_bound import side_of
from windrow.errors import Diagnostic
from windrow.model.expr import Binary, Column, Expr
from windrow.model.query import Join, NamedSource
from windrow.model.statement import CreateTable, CreateTableAs
from windrow.model.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN
from windrow.sql import render_expr


def asof_join(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        bindings = block.scopes.rows.bindings
        for position, join in enumerate(block.select.joins, 1):
            if join.is_asof and join.on is not None:
                yield from _judge(block, join, bindings[:position], bindings[position])


def _judge(block: Block, join: Join, left: tuple[Binding, ...], right: Binding) -> Iterator[Diagnostic]:
    times = f"{_time_of(left[0])} >= {_time_of(right)}"
    if block.is_over_tables or not any(binding.kind == "stream" for binding in left):
        message = "ASOF JOIN completes the rows of a stream, and there is none on its left"
        yield Diagnostic("WR246", message, join.span, "write the stream first: FROM stream ASOF JOIN table ON ...")
        return
    found = read_asof(conjuncts(join.on), lambda expr: side_of(expr, right, block.scopes.rows))
    for other in found.others:
        message = f"ASOF JOIN takes equalities and one comparison such as {times}, not {render_expr(other)}"
        yield Diagnostic("WR246", message, other.span or join.span, _other_hint(other, right, block))
    if found.others:
        return
    if len(found.orders) != 1:
        said = "does not say which row is the earlier one" if not found.orders else "compares times more than once"
        yield Diagnostic("WR246", f"the condition of ASOF JOIN {right.name} {said}", join.span, f"write ON ... AND {times}, once")
    elif right.kind == "stream":
        yield from _judge_stream(block, join, found, right, times)
    else:
        yield from _judge_table(block, join, found.orders[0])


def _time_of(binding: Binding) -> str:
    """The first column of a stream or table that is a time."""
    own = next((column.name for column in binding.columns if column.type in (TIMESTAMP, TIMESTAMP_NTZ)), "_event_time")
    return f"{binding.name}.{own}"


def _other_hint(other: Expr, right: Binding, block: Block) -> str:
    scope = block.scopes.rows
    if isinstance(other, Binary) and {side_of(other.left, right, scope), side_of(other.right, right, scope)} == {"left", "right"}:
        late, early = (other.right, other.left) if side_of(other.left, right, scope) == "right" else (other.left, other.right)
        return f"the row of {right.name} that is found is the earlier one: write {render_expr(late)} >= {render_expr(early)}"
    return "move it to WHERE"


def _judge_stream(block: Block, join: Join, found: AsofCondition, right: Binding, times: str) -> Iterator[Diagnostic]:
    if not found.equalities:
        hint = f"add an equality: ON {times} AND left.key = {right.name}.key"
        yield Diagnostic("WR246", f"ASOF JOIN {right.name} has no equality", join.span, hint)
    for time in (found.orders[0].left, found.orders[0].right):
        if not _is_time(time, block):
            message = f"ASOF JOIN of two streams compares their times, and {render_expr(time)} is none"
            hint = "compare two columns of type TIMESTAMP, or the event times: left._event_time >= right._event_time"
            yield Diagnostic("WR246", message, time.span or join.span, hint)


def _is_time(expr: Expr, block: Block) -> bool:
    """A column that holds a time, or that its stream takes the event time from, in whatever form."""
    if not isinstance(expr, Column):
        return False
    return infer(expr, block.scopes.rows) in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN) or _is_event_time(expr, block)


def _is_event_time(column: Column, block: Block) -> bool:
    found = block.scopes.rows.resolve(column)
    sources = (block.select.source, *(join.source for join in block.select.joins))
    for source, binding in zip(sources, block.scopes.rows.bindings, strict=False):
        if isinstance(found, Resolved) and found.source == binding and isinstance(source, NamedSource):
            return event_time_field(block.scopes.names.relation(source.name)) == column.name.lower()
    return False


def _judge_table(block: Block, join: Join, order: TimeOrder) -> Iterator[Diagnostic]:
    """A table with a key holds the latest row of each, unless its rows say since when they hold."""
    source = join.source
    if not isinstance(source, NamedSource):
        return
    relation = block.scopes.names.relation(source.name)
    if relation is None or (isinstance(block.scopes.names, WithCommonTables) and relation in block.scopes.names.common):
        return
    if isinstance(relation.defined_by, CreateTableAs):
        message = f"the table {source.name} holds the latest row per key of a query: there are no earlier ones to find"
        yield Diagnostic("WR259", message, source.span, "ASOF JOIN the stream that the table is made of")
        return
    if not isinstance(relation.defined_by, CreateTable) or not relation.defined_by.primary_key:
        return
    table = relation.defined_by
    keyed = {key.lower() for key in table.primary_key}
    is_key = isinstance(order.right, Column) and order.right.name.lower() in keyed
    if table.options.get("event.time.field") is None and not is_key:
        message = f"the table {source.name} holds the latest row per {', '.join(table.primary_key)}: there are no earlier ones to find"
        hint = f"name the column of the time, in CREATE TABLE {source.name}: 'event.time.field' = 'since'"
        yield Diagnostic("WR259", message, source.span, hint)
