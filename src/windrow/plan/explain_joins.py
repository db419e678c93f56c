"""What EXPLAIN says about tables and joins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.model.expr import Call, Column, Expr, Node, transform
from windrow.model.policies import MissingTableRow
from windrow.model.types import ColumnDef
from windrow.plan.stages import Explode, LoadTable, LookupJoin, NewestRow, Side, SubqueryLookup, TableSubquery
from windrow.sql import render_expr, render_query
from windrow.sql.durations import show_duration

_MISSING = {
    MissingTableRow.NULL: "NULLs",
    MissingTableRow.SKIP: "the row is left out and counted",
    MissingTableRow.DEFAULT: "0, '' or false in place of its columns",
    MissingTableRow.FAIL: "the job stops",
}


def as_written(expr: Expr) -> str:
    """Physical names read as the user wrote them: ``o.id`` is column id of o.

    >>> as_written(Column("o.id"))
    'o.id'
    """

    def change(node: Node) -> Node | None:
        if not isinstance(node, Column) or node.qualifier is not None or "." not in node.name:
            return None
        qualifier, _, name = node.name.partition(".")
        return Column(name, qualifier)

    return render_expr(transform(expr, change))


def table_facts(stage: LoadTable) -> Iterator[tuple[str, str]]:
    yield "connector", stage.read.connector
    yield "columns", ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in stage.read.columns)
    yield "why", stage.reason


def lookup_join_facts(stage: LookupJoin) -> Iterator[tuple[str, str]]:
    yield "rows of", stage.stream.input
    for lookup in stage.lookups:
        condition = "always" if lookup.on is None else as_written(lookup.on)
        version = "" if lookup.as_of is None else f" as of {as_written(lookup.as_of)}"
        if lookup.newest is not None:
            version = f", the newest {'before' if lookup.newest.is_exclusive else 'at or before'} {as_written(lookup.newest.at)}"
            version += "" if lookup.newest.only is None else f" of those with {as_written(lookup.newest.only)}"
        asked = "" if lookup.rows is None else f" = {render_query(lookup.rows.query)},"
        yield "looks up", f"{lookup.table.input}{asked}{version} where {condition}; nothing there: {_MISSING[lookup.on_missing]}"
    if stage.retry_for is not None:
        yield "retries", f"a row that finds nothing is kept for {show_duration(stage.retry_for)}, and looks again with every batch"
    yield "waits", f"{show_duration(stage.wait)} at most for its tables to be loaded"
    yield "why", stage.reason


def subquery_lookup_facts(stage: SubqueryLookup) -> Iterator[tuple[str, str]]:
    for subquery in stage.subqueries:
        yield subquery.slot, as_written(subquery.asked)
    yield "waits", f"{show_duration(stage.wait)} at most for its tables to be loaded"
    yield "why", stage.reason


def explode_facts(stage: Explode) -> Iterator[tuple[str, str]]:
    yield "rows", _generated(stage)
    yield "why", stage.reason


def _generated(stage: Explode) -> str:
    return f"{as_written(Call(stage.generator, stage.args))} AS {', '.join(stage.columns)}"


def subquery_json(subquery: TableSubquery) -> dict[str, Any]:
    return {"slot": subquery.slot, "expr": as_written(subquery.asked), "tables": list(subquery.tables)}


def side_json(side: Side) -> dict[str, Any]:
    return {
        "input": side.input,
        "prefix": side.prefix,
        "columns": [_column_json(column) for column in side.columns],
        "asked": [_column_json(column) for column in side.compared],
        "filter": None if side.where is None else as_written(side.where),
    }


def _column_json(column: ColumnDef) -> dict[str, Any]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}


def _newest_json(newest: NewestRow) -> dict[str, Any]:
    return {
        "by": [as_written(key) for key in newest.by],
        "since": as_written(newest.since),
        "at": as_written(newest.at),
        "is_exclusive": newest.is_exclusive,
        "only": None if newest.only is None else as_written(newest.only),
    }


def join_json(stage: Explode | SubqueryLookup | LookupJoin) -> dict[str, Any]:
    match stage:
        case Explode(is_outer=is_outer, is_strict=is_strict):
            return {"kind": "explode", "generator": _generated(stage), "is_outer": is_outer, "is_strict": is_strict}
        case SubqueryLookup(subqueries=subqueries, wait=wait, is_strict=is_strict):
            asked = [subquery_json(each) for each in subqueries]
            return {"kind": "subquery_lookup", "subqueries": asked, "wait_us": wait, "is_strict": is_strict}
        case LookupJoin(stream=stream, lookups=lookups, wait=wait, is_strict=is_strict, retry_for=retry_for):
            tables = [
                {
                    "table": side_json(each.table),
                    "query": None if each.rows is None else render_query(each.rows.query),
                    "on": None if each.on is None else as_written(each.on),
                    "as_of": None if each.as_of is None else as_written(each.as_of),
                    "on_missing": each.on_missing,
                    "compared": list(each.compared),
                    "newest": None if each.newest is None else _newest_json(each.newest),
                    "query_columns": None if each.rows is None else list(each.rows.columns),
                    "query_tables": None if each.rows is None else list(each.rows.tables),
                }
                for each in lookups
            ]
            return {
                "kind": "lookup_join",
                "stream": side_json(stream),
                "lookups": tables,
                "wait_us": wait,
                "retry_us": retry_for,
                "is_strict": is_strict,
            }


def join_label(stage: LoadTable | Explode | SubqueryLookup | LookupJoin) -> list[str]:
    """The lines of a stage's box."""
    match stage:
        case LoadTable(name=name, read=read):
            return [name, f"table from {read.connector}"]
        case Explode(name=name):
            return [name, _generated(stage)]
        case SubqueryLookup(name=name, subqueries=subqueries):
            return [name, *(as_written(each.asked) for each in subqueries)]
        case LookupJoin(name=name, lookups=lookups):
            return [name, f"looks up {', '.join(lookup.table.input for lookup in lookups)}"]
