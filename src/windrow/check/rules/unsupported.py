"""WR290: what the dialect has and the engine does not run yet. When it does, delete the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windrow.catalog.own_functions import HEADER_FUNCTIONS
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Exists, InQuery, Node, Over, ScalarQuery
from windrow.model.options import Option
from windrow.model.place import Span
from windrow.model.query import CommonTable, DerivedSource, Join, LateralView, NamedSource, Select, Union
from windrow.model.statement import (
    CreateFunction,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Describe,
    Drop,
    Explain,
    InsertInto,
    Show,
)
from windrow.model.window import OnWatermark, ProcessingTime, Punctuated, Rows, Session, Sliding, Trigger

_GENERATORS = frozenset("explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple".split())


@dataclass(frozen=True)
class Gap:
    """``is_here`` is asked about every node of the script."""

    what: str
    is_here: Callable[[Node], bool]
    hint: str


def _is(*kinds: type[Node]) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, kinds)


def _select(claim: Callable[[Select], bool]) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Select) and claim(node)


def _calls(names: frozenset[str]) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Call) and node.name.lower() in names


def _option(key: str, value: str | None = None) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Option) and node.key.lower() == key and value in (None, node.value.lower())


def _is_other_trigger(node: Node) -> bool:
    return isinstance(node, Trigger) and not isinstance(node, OnWatermark)


GAPS: tuple[Gap, ...] = (
    Gap("SLIDING windows are", _is(Sliding), "use WINDOW TUMBLING(1m)"),
    Gap("SESSION windows are", _is(Session), "use WINDOW TUMBLING(1m)"),
    Gap("ROWS windows are", _is(Rows), "use WINDOW TUMBLING(1m)"),
    Gap("OVER (...) is", _is(Over), "aggregate with GROUP BY and WINDOW TUMBLING(1m)"),
    Gap("joins are", _is(Join), "read one stream"),
    Gap("CREATE TABLE is", _is(CreateTable), "use CREATE STREAM"),
    Gap("CREATE TABLE AS is", _is(CreateTableAs), "use CREATE STREAM ... AS SELECT"),
    Gap("INSERT INTO is", _is(InsertInto), "use CREATE STREAM ... AS SELECT ... WITH ('connector' = '...')"),
    Gap("CREATE FUNCTION is", _is(CreateFunction), "use one of Spark's functions"),
    Gap("EXPLAIN is", _is(Explain), "remove EXPLAIN"),
    Gap("SHOW is", _is(Show), "remove the statement"),
    Gap("DESCRIBE is", _is(Describe), "remove the statement"),
    Gap("DROP is", _is(Drop), "remove the statement"),
    Gap("SELECT DISTINCT is", _select(lambda select: select.is_distinct), "use GROUP BY"),
    Gap("LIMIT is", _select(lambda select: select.limit is not None), "remove LIMIT"),
    Gap("ORDER BY is", _select(lambda select: bool(select.order_by)), "remove ORDER BY"),
    Gap("QUALIFY is", _select(lambda select: select.qualify is not None), "remove QUALIFY"),
    Gap("SELECT without FROM is", _select(lambda select: select.source is None), "add FROM and the name of a stream"),
    Gap("UNION is", _is(Union), "write one statement for each SELECT"),
    Gap("WITH ... AS (SELECT ...) is", _is(CommonTable), "write CREATE STREAM ... AS SELECT"),
    Gap("SELECT in FROM is", _is(DerivedSource), "write CREATE STREAM ... AS SELECT and read that"),
    Gap("LATERAL VIEW is", _is(LateralView), "remove LATERAL VIEW"),
    Gap("FOR SYSTEM_TIME AS OF is", lambda node: isinstance(node, NamedSource) and node.as_of is not None, "remove it"),
    Gap("subqueries are", _is(InQuery, Exists, ScalarQuery), "write the values: IN (1, 2, 3)"),
    Gap("functions that give several rows are", _calls(_GENERATORS), "read one element: array[0]"),
    Gap("triggers other than ON WATERMARK are", _is_other_trigger, "write TRIGGER ON WATERMARK"),
    Gap("header functions are", _calls(HEADER_FUNCTIONS), "remove the call"),
    Gap("windows over processing time are", _is(ProcessingTime), "leave ON PROCESSING_TIME() out"),
    Gap("PUNCTUATED watermarks are", _is(Punctuated), "write WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(5s)"),
    Gap("'watermark.granularity' = 'row' is", _option("watermark.granularity", "row"), "leave the option out"),
    Gap("'state.ttl' is", _option("state.ttl"), "leave the option out"),
)


def unsupported(context: Context) -> Iterator[Diagnostic]:
    for node, span in _everything(context):
        for gap in GAPS:
            if gap.is_here(node):
                yield Diagnostic("WR290", f"{gap.what} not supported yet", node.span or span, gap.hint)


def _everything(context: Context) -> Iterator[tuple[Node, Span | None]]:
    """Every node of a script with the place to show where it has none of its own."""
    for statement in context.script.statements:
        yield statement, statement.span
        if isinstance(statement, CreateStream | CreateStreamAs | CreateTable | CreateTableAs):
            for entry in statement.options:
                yield entry, statement.span
    for union in context.unions:
        yield union.union, None
        for table in union.union.ctes:
            yield table, union.union.span
    for block in context.blocks:
        yield from _parts(block.select)
    for node, _, place, _ in context.nodes():
        if not isinstance(node, Select | Union):
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
