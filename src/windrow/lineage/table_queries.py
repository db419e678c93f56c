"""Queries over tables, inside of expressions and joins. Spark runs them whole, so they are read as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.lineage.flows import Flow, merged
from windrow.lineage.graph import EdgeKind
from windrow.lineage.origins import NOTHING, Columns, Origins, deciding, origins_of, through
from windrow.model.expr import Exists, InQuery, ScalarQuery, Star, walk
from windrow.model.query import DerivedSource, NamedSource, Query, Select, Source, Union
from windrow.plan.stages import TableSubquery


@dataclass(frozen=True)
class QueryOrigins:
    """Of the columns of a query, in order; ``rows`` is what decides which rows there are."""

    columns: tuple[Origins, ...]
    rows: Origins
    names: tuple[str, ...] = ()

    @property
    def everything(self) -> Origins:
        return frozenset(origin for column in self.columns for origin in column)


def answer_of(subquery: TableSubquery, columns: Columns, flows: Mapping[str, Flow]) -> Origins:
    """What the answer to a subquery depends on: the tables it reads, and what the row at hand tells it."""
    question = subquery.asked.question.subquery
    told = {f"_p{number}": origins_of(arg, columns) for number, arg in enumerate(subquery.asked.args)}
    asked = columns_of_query(question.query, flows, told)
    deciders = asked.rows | frozenset(origin for origins in told.values() for origin in origins)
    kind = EdgeKind.CONDITIONAL if isinstance(question, InQuery | Exists) else EdgeKind.TRANSFORMATION
    return through(asked.everything, kind) | through(deciders, EdgeKind.CONDITIONAL)


def columns_of_query(query: Query, flows: Mapping[str, Flow], slots: Mapping[str, Origins] | None = None) -> QueryOrigins:
    """``flows`` are the tables by name; ``slots`` what the query is told from outside."""
    known = {name.lower(): flow for name, flow in flows.items()}
    return _of_query(query, known, slots or {})


def _of_query(query: Query, flows: Mapping[str, Flow], slots: Mapping[str, Origins]) -> QueryOrigins:
    if isinstance(query, Union):
        left, right = _of_query(query.left, flows, slots), _of_query(query.right, flows, slots)
        columns = tuple(one | other for one, other in zip(left.columns, right.columns, strict=False))
        return QueryOrigins(columns, left.rows | right.rows, left.names)
    return _of_select(query, flows, slots)


def _of_select(select: Select, flows: Mapping[str, Flow], slots: Mapping[str, Origins]) -> QueryOrigins:
    sources = [source for source in (select.source, *(join.source for join in select.joins)) if source is not None]
    given = [_of_source(source, flows, slots) for source in sources]
    # Two tables may have a column of one name: which of them a qualifier stands before is not looked into.
    names = Columns(merged({name.lower(): found for name, found in {**flow.hidden, **flow.visible}.items()} for flow in given), slots)
    columns: list[Origins] = []
    labels: list[str] = []
    for item in select.items:
        if isinstance(item.expr, Star):
            columns += (origins for flow in given for origins in flow.visible.values())
            labels += (name for flow in given for name in flow.visible)
            continue
        columns.append(origins_of(item.expr, names))
        labels.append(item.alias or str(getattr(item.expr, "name", "")))
    rows = frozenset(origin for flow in given for origin in flow.rows)
    rows |= deciding((select.where, select.having, select.qualify), names, EdgeKind.FILTER)
    rows |= deciding((join.on for join in select.joins), names, EdgeKind.JOIN)
    rows |= deciding(select.group_by, names, EdgeKind.GROUP_BY) | deciding(select.order_by, names, EdgeKind.SORT)
    used = [name for join in select.joins for name in join.using]
    rows |= through((origin for name in used for origin in names.of(name) or NOTHING), EdgeKind.JOIN)
    # What a subquery inside of it asks decides about its rows, or gives one value of all of them: a part of everything either way.
    asked = (_of_query(node.query, flows, slots) for node in walk(select) if isinstance(node, InQuery | Exists | ScalarQuery))
    rows |= frozenset(o for each in asked for o in through(each.everything | each.rows, EdgeKind.CONDITIONAL))
    return QueryOrigins(tuple(columns), rows, tuple(labels))


def _of_source(source: Source, flows: Mapping[str, Flow], slots: Mapping[str, Origins]) -> Flow:
    match source:
        case NamedSource(name=name):
            return flows.get(name.lower(), Flow({}, {}, NOTHING))
        case DerivedSource(query=query):
            asked = _of_query(query, flows, slots)
            return Flow(dict(zip(asked.names, asked.columns, strict=False)), {}, asked.rows)
