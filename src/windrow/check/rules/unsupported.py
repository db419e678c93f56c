"""WR290: what the dialect has and the engine does not run yet. When it does, delete the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windrow.aggregates import find_aggregate
from windrow.catalog.functions import FunctionKind, function
from windrow.catalog.own_functions import FOREIGN, OWN_FUNCTIONS, RECORD_FORMATS, TIME_OF_DAY
from windrow.check.blocks import Context
from windrow.check.rules.argument_count import has_wrong_count
from windrow.connectors.registry import CONNECTORS
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Node, Over
from windrow.model.place import Span
from windrow.model.query import Select, Union
from windrow.model.statement import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
)


@dataclass(frozen=True)
class Gap:
    """``is_here`` is asked about every node of the script."""

    what: str
    is_here: Callable[[Node], bool]
    hint: str
    # Does not hold for the call right before OVER, which Spark itself computes.
    is_fine_with_over: bool = False


def _is_missing_aggregate(node: Node) -> bool:
    """Spark has it, but it has no partial, merge and finish here yet. Inside OVER, Spark's own is used."""
    if not isinstance(node, Call):
        return False
    known = function(node.name)
    if known is None or known.kind is not FunctionKind.AGGREGATE or node.name.lower() in FOREIGN or has_wrong_count(node, known):
        return False
    return find_aggregate(node) is None and not _throws_dice(node)


def _calls(names: frozenset[str]) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Call) and node.name.lower() in names


def _throws_dice(node: Node) -> bool:
    """A merge of KLL sketches does, so a batch that runs again would give other values."""
    return isinstance(node, Call) and node.name.lower().startswith(("kll_sketch_agg", "kll_merge_agg"))


_NOT_OF_SPARK = frozenset(own.name for own in OWN_FUNCTIONS)


def _is_beyond_spark(node: Node) -> bool:
    """Before OVER, Spark computes: it does not know the dialect's own aggregates, and takes no words that narrow a call there."""
    if not isinstance(node, Over):
        return False
    call = node.call
    return call.distinct or call.where is not None or bool(call.within_group) or call.name.lower() in _NOT_OF_SPARK


def _judges_joined_rows(node: Node) -> bool:
    """Rows of a join have no order of arrival of their own."""
    query = node.query if isinstance(node, CreateStreamAs) else node
    options = node.options if isinstance(node, CreateStreamAs | Select) else ()
    is_row = any(option.key.lower() == "watermark.granularity" and option.value.lower() == "row" for option in options)
    return is_row and isinstance(query, Select) and bool(query.joins)


_LOADABLE = tuple(name for name, spec in CONNECTORS.own().items() if spec.is_loadable)


def _is_not_loadable(node: Node) -> bool:
    spec = CONNECTORS.get((node.options.get("connector") or "").lower()) if isinstance(node, CreateTable) else None
    return spec is not None and not spec.is_loadable


_AGGREGATES_THERE_ARE = "use COUNT [DISTINCT], SUM, AVG, MIN, MAX, STDDEV, PERCENTILE_CONT, ARRAY_AGG ..."

GAPS: tuple[Gap, ...] = (
    Gap("CREATE TABLE with this connector is", _is_not_loadable, f"use one of: {', '.join(_LOADABLE)}"),
    Gap(
        "a KLL sketch over a stream, whose merges throw dice, is",
        _throws_dice,
        "use PERCENTILE_SKETCH(x, 0.99), off by 1 % at most and the same when run again",
        is_fine_with_over=True,
    ),
    Gap("this aggregate, or DISTINCT in it, is", _is_missing_aggregate, _AGGREGATES_THERE_ARE, is_fine_with_over=True),
    Gap(
        "OVER after DISTINCT, FILTER, ORDER BY inside the call or WITHIN GROUP, and after the dialect's own aggregates, is",
        _is_beyond_spark,
        "write CASE WHEN inside the call, or use FIRST_VALUE, MIN and MAX",
    ),
    Gap("a time of day is", _calls(TIME_OF_DAY), "keep a TIMESTAMP, and show it with date_format(ts, 'HH:mm:ss')"),
    Gap("Avro or Protobuf inside a query is", _calls(RECORD_FORMATS), "a Kafka source reads such records: 'format' = 'avro' or 'protobuf'"),
    Gap("this function of Spark is", _calls(FOREIGN), "SHOW FUNCTIONS lists those that are"),
    Gap("'watermark.granularity' = 'row' in a query with JOIN is", _judges_joined_rows, "leave the option out"),
)


def unsupported(context: Context) -> Iterator[Diagnostic]:
    every = list(_everything(context))
    before_over = {id(node.call) for node, _ in every if isinstance(node, Over)}
    for node, span in every:
        for gap in GAPS:
            if gap.is_here(node) and not (gap.is_fine_with_over and id(node) in before_over):
                yield Diagnostic("WR290", f"{gap.what} not supported yet", node.span or span, gap.hint)


def _everything(context: Context) -> Iterator[tuple[Node, Span | None]]:
    """Every node of a script with the place to show where it has none of its own."""
    for statement in context.script.statements:
        yield statement, statement.span
        if isinstance(statement, CreateStream | CreateStreamAs | CreateTable | CreateTableAs):
            for entry in statement.options:
                yield entry, statement.span
    # What reads tables only is Spark's to run, whole.
    for union in context.unions:
        if union.outer is not None:
            continue
        yield union.union, None
        for table in union.union.ctes:
            yield table, union.union.span
    for block in context.blocks:
        if not block.is_over_tables:
            yield from _parts(block.select)
    for node, _, place, block in context.nodes():
        if not block.is_over_tables and not isinstance(node, Select | Union):
            yield node, place.expr.span


def _parts(select: Select) -> Iterator[tuple[Node, Span | None]]:
    yield select, select.span
    listed = (*select.ctes, *select.joins, *select.lateral_views, *select.options)
    sources = (source for source in (select.source, *(join.source for join in select.joins)) if source is not None)
    for node in (*listed, *sources):
        yield node, select.span
    if select.window is not None:
        window = select.window
        for part in (window.kind, window.time, window.watermark, *window.triggers):
            if part is not None:
                yield part, window.span or select.span
