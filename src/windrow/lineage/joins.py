"""What joins give: the columns of all sides, of rows that decide about each other."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.lineage.flows import Flow
from windrow.lineage.graph import EdgeKind
from windrow.lineage.origins import NOTHING, Origins, deciding, through
from windrow.lineage.table_queries import columns_of_query
from windrow.model.expr import Expr
from windrow.plan.stages import IntervalJoin, Lookup, LookupJoin, Side
from windrow.plan.stream_joins import PAIR_START, AsofJoin, WindowJoin

_OF_THE_ROW = ("_event_time", "_timestamp")


def joined(stage: IntervalJoin | AsofJoin | WindowJoin, flows: Mapping[str, Flow]) -> Flow:
    """Two streams. A joined row has the times of both."""
    left, right = _side(stage.left, flows), _side(stage.right, flows)
    both = Flow({**left.visible, **right.visible}, {**left.hidden, **right.hidden}, left.rows | right.rows)
    columns = both.columns()
    conditions = [key for pair in stage.keys for key in pair]
    if not isinstance(stage, AsofJoin) and stage.residual is not None:
        conditions.append(stage.residual)
    met = deciding(conditions, columns, EdgeKind.JOIN)
    times = deciding(stage.times, columns, EdgeKind.TRANSFORMATION)
    own = {name: _own(name, stage, flows) for name in _OF_THE_ROW}
    own["_event_time"] |= times
    bounds = dict.fromkeys((PAIR_START, "_window_start", "_window_end"), through(times, EdgeKind.WINDOW))
    rows = both.rows | met | through(times, EdgeKind.JOIN)
    return Flow(both.visible, {**both.hidden, **own, **bounds}, rows)


def looked_up(stage: LookupJoin, flows: Mapping[str, Flow]) -> Flow:
    """A stream with tables: its rows stay, unless one that finds nothing is left out."""
    given = _side(stage.stream, flows)
    of_stream = {name: flows[stage.stream.input].hidden.get(name, NOTHING) for name in _OF_THE_ROW}
    hidden, rows = {**of_stream, **given.hidden}, given.rows
    for lookup in stage.lookups:
        table = _table(lookup, flows)
        hidden |= {**table.hidden, **table.visible}
        columns = Flow(given.visible, hidden, rows, anything=given.anything).columns()
        rows |= table.rows | deciding(_conditions(lookup), columns, EdgeKind.JOIN)
    return Flow(given.visible, hidden, rows, anything=given.anything)


def _side(side: Side, flows: Mapping[str, Flow]) -> Flow:
    flow = flows[side.input].prefixed(side.prefix)
    return flow if side.where is None else flow.with_rows(deciding((side.where,), flow.columns(), EdgeKind.FILTER))


def _own(name: str, stage: IntervalJoin | AsofJoin | WindowJoin, flows: Mapping[str, Flow]) -> Origins:
    return flows[stage.left.input].hidden.get(name, NOTHING) | flows[stage.right.input].hidden.get(name, NOTHING)


def _table(lookup: Lookup, flows: Mapping[str, Flow]) -> Flow:
    if lookup.rows is None:
        return _side(lookup.table, flows)
    asked = columns_of_query(lookup.rows.query, flows)
    named = dict(zip(lookup.rows.columns, asked.columns, strict=False))
    # A query that gives more columns than it names is taken to give everything everywhere.
    named |= {name: asked.everything for name in lookup.rows.columns if name not in named}
    flow = Flow(named, {}, asked.rows).prefixed(lookup.table.prefix)
    return flow if lookup.table.where is None else flow.with_rows(deciding((lookup.table.where,), flow.columns(), EdgeKind.FILTER))


def _conditions(lookup: Lookup) -> list[Expr | None]:
    newest = lookup.newest
    asked: list[Expr | None] = [lookup.on, lookup.as_of]
    return asked if newest is None else [*asked, *newest.by, newest.since, newest.at, newest.only]
