"""Queries: WITH name AS (...), SELECT and UNION."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from windrow.model.expr import Binary, Call, Star
from windrow.model.options import Options
from windrow.model.query import CommonTable, DerivedSource, Query, Select, SelectItem, Union
from windrow.sql import codes
from windrow.sql.calls import read_star
from windrow.sql.clauses import read_clauses
from windrow.sql.column_lists import read_column_list, with_columns
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Token
from windrow.sql.groupings import with_groupings
from windrow.sql.sources import read_from
from windrow.sql.window_functions import with_group_window, with_window_table


def read_query(cursor: Cursor) -> Query:
    """A query inside another one, which may not have options of its own."""
    query, options = read_query_with_options(cursor)
    if options:
        message = "WITH (...) belongs to the whole statement, not to a subquery"
        raise cursor.fault(codes.MISPLACED, message, options.span, "move it to the end of the statement")
    return query


def read_query_with_options(cursor: Cursor) -> tuple[Query, Options]:
    """A query, and the WITH (...) that stood in its last part: the caller knows what the options belong to."""
    start = cursor.peek()
    with cursor.nested():
        ctes = cursor.between_commas(_read_common_table) if cursor.take("WITH") else ()
        query, is_open = _read_operand(cursor)
        while cursor.at("UNION"):
            if is_open:
                _refuse_open_clauses(cursor, query, Options() if isinstance(query, Union) else query.options)
            cursor.advance()
            is_all = cursor.take("ALL")
            if not is_all:
                cursor.take("DISTINCT")
            right, is_open = _read_operand(cursor)
            right, last = _without_end(right) if is_open and not cursor.at("UNION") else (right, None)
            if is_open:
                _refuse_open_clauses(cursor, right, Options())
            query = Union(query, right, is_all, span=cursor.since(start))
            if last is not None:
                query, options = _take_options(query, is_open)
                query = replace(last, source=DerivedSource(query, "united"), options=options, span=cursor.since(start))
    if isinstance(query, Union) and not is_open and (cursor.at("ORDER", "BY") or cursor.at("LIMIT")):
        # (...) UNION ALL (...) ORDER BY x: of the whole, since each part stands for itself.
        query = read_clauses(cursor, Select((SelectItem(Star()),), DerivedSource(query, "united"), span=cursor.since(start)))
        is_open = True
    query, options = _take_options(query, is_open)
    if ctes:
        query = replace(query, ctes=(*ctes, *query.ctes), span=cursor.since(start))
    return query, options


def _without_end(right: Query) -> tuple[Query, Select | None]:
    """The last part of a UNION without ORDER BY and LIMIT, which are of the whole; and a SELECT * that has them."""
    if not isinstance(right, Select) or not (right.order_by or right.limit is not None):
        return right, None
    whole = Select((SelectItem(Star()),), order_by=right.order_by, limit=right.limit)
    return replace(right, order_by=(), limit=None), whole


def _take_options(query: Query, is_open: bool) -> tuple[Query, Options]:
    if isinstance(query, Select):
        return (replace(query, options=Options()), query.options) if is_open else (query, Options())
    right, options = _take_options(query.right, is_open)
    return replace(query, right=right), options


def _read_operand(cursor: Cursor) -> tuple[Query, bool]:
    """One side of a UNION, and whether it stands open, without parentheses."""
    if cursor.take("("):
        query = read_query(cursor)
        cursor.expect(")")
        return query, False
    start = cursor.peek()
    if not cursor.take("SELECT"):
        raise cursor.expected("SELECT", "SELECT", "WITH")
    return _read_select(cursor, start), True


def _refuse_open_clauses(cursor: Cursor, query: Query, options: Options) -> None:
    """ORDER BY, LIMIT and EMIT at the end of a UNION: of the last part or of the whole? The text must say."""
    if not isinstance(query, Select):
        return
    clauses = {"ORDER BY": query.order_by, "LIMIT": query.limit is not None, "EMIT": query.emit, "WITH (...)": options}
    found = [name for name, is_there in clauses.items() if is_there]
    if found:
        message = f"{found[0]} in a part of UNION needs parentheses around that part"
        hint = "write (SELECT ... LIMIT 5) UNION ALL (SELECT ...), or SELECT * FROM (... UNION ALL ...) AS u LIMIT 5"
        raise cursor.fault(codes.MISPLACED, message, query.span, hint)


def _read_common_table(cursor: Cursor) -> CommonTable:
    start = cursor.peek()
    name = cursor.name("the name of a common table, or ( and options,")
    columns = read_column_list(cursor)
    cursor.expect("AS")
    query = cursor.in_parentheses(read_query)
    return CommonTable(name, with_columns(cursor, name, query, columns), span=cursor.since(start))


def _read_select(cursor: Cursor, start: Token) -> Query:
    is_distinct = cursor.take("DISTINCT")
    if not is_distinct:
        cursor.take("ALL")
    items = cursor.between_commas(_read_item)
    read = read_from(cursor) if cursor.take("FROM") else None
    select = Select(items, is_distinct=is_distinct)
    if read is not None:
        select = replace(select, source=read.source, joins=read.joins, lateral_views=read.views)
    select = replace(read_clauses(cursor, select), span=cursor.since(start))
    if read is not None and read.conditions:
        asked = [*([] if select.where is None else [select.where]), *read.conditions]
        select = replace(select, where=reduce(lambda one, other: Binary("AND", one, other, span=one.span), asked))
    if read is not None and read.window is not None:
        select = with_window_table(cursor, select, read.window)
    return with_groupings(cursor, with_group_window(cursor, select))


def _read_item(cursor: Cursor) -> SelectItem:
    start = cursor.peek()
    star = read_star(cursor)
    if star is not None:
        return SelectItem(star, span=cursor.since(start))
    if cursor.at("FROM"):
        raise cursor.expected("something to select before FROM")
    expr = cursor.expr()
    if isinstance(expr, Call) and expr.name.lower() == "unnest" and len(expr.args) == 1:
        # PostgreSQL's way to write it in the select list.
        expr = replace(expr, name="explode")
    alias = cursor.alias()
    is_primary_key = cursor.take("PRIMARY", "KEY")
    return SelectItem(expr, alias, is_primary_key, span=cursor.since(start))
