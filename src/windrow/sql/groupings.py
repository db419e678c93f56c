"""GROUPING SETS, ROLLUP and CUBE: a query for each grouping, put together with UNION ALL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product

from windrow.model.expr import Call, Column, Expr, Field, Literal, Node, SortKey, Star
from windrow.model.expr import transform as transform_node
from windrow.model.options import Options
from windrow.model.query import DerivedSource, Query, Select, SelectItem, Union
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.predicates import row_items
from windrow.sql.words import AGGREGATE_NAMES

_SETS, _ROLLUP, _CUBE = "grouping sets", "rollup", "cube"
# What only a query of several groupings can ask.
ASKED = frozenset({"grouping", "grouping_id"})

Grouping = tuple[Expr, ...]


def read_keys(cursor: Cursor) -> tuple[Expr, ...]:
    """The keys of GROUP BY; those of a row in parentheses are keys by themselves."""
    start = cursor.peek()
    listed = cursor.between_commas(_read_key)
    if cursor.at("GROUPING", "SETS"):
        # GROUP BY a, b GROUPING SETS ((a), (b)), as Hive and Spark write it: the sets name the keys again.
        return (_read_key(cursor),)
    for word in (_ROLLUP, _CUBE):
        # GROUP BY a, b WITH ROLLUP, as MySQL and Spark write it.
        if cursor.take("WITH", word.upper()):
            return (Call(word, listed, span=cursor.since(start), name_span=cursor.last().span),)
    return tuple(key for expr in listed for key in row_items(expr) or (expr,))


def _read_key(cursor: Cursor) -> Expr:
    start = cursor.peek()
    if cursor.take("GROUPING", "SETS"):
        parts = cursor.in_parentheses(lambda inner: inner.between_commas(_read_set))
        return Call(_SETS, parts, span=cursor.since(start), name_span=start.span)
    for word in (_ROLLUP, _CUBE):
        if cursor.at(word.upper(), "("):
            cursor.advance()
            parts = cursor.in_parentheses(lambda inner: inner.between_commas(Cursor.expr))
            return Call(word, parts, span=cursor.since(start), name_span=start.span)
    return cursor.expr()


def _read_set(cursor: Cursor) -> Expr:
    """``(a, b)``, ``a``, ``()`` or ROLLUP (a, b)."""
    start = cursor.peek()
    return Call("struct", span=start.span) if cursor.take("(", ")") else _read_key(cursor)


def with_groupings(cursor: Cursor, select: Select) -> Query:
    """A select with several groupings, as the union of one query for each."""
    select = replace(select, group_by=tuple(_meant(key, select) for key in select.group_by))
    if not any(_is_several(key) for key in select.group_by):
        return select
    if select.qualify is not None or select.is_distinct:
        message = "several groupings are several queries: QUALIFY and DISTINCT would be asked of each"
        raise cursor.fault(codes.MISPLACED, message, select.span, "write SELECT ... FROM (SELECT ... GROUP BY ROLLUP (...)) AS g")
    groupings = [tuple(dict.fromkeys(key for part in parts for key in part)) for parts in product(*map(_groupings, select.group_by))]
    keys = tuple(dict.fromkeys(key for grouping in groupings for key in grouping))
    plain = replace(select, order_by=(), limit=None, options=Options())
    queries: list[Query] = [_of_grouping(plain, grouping, keys) for grouping in groupings]
    if not select.order_by and select.limit is None:
        last = queries[-1]
        assert isinstance(last, Select)
        queries[-1] = replace(last, options=select.options)
        return _united(queries, select)
    whole = DerivedSource(_united(queries, select), "groupings")
    order = tuple(_by_name(key, select) for key in select.order_by)
    return Select((SelectItem(Star()),), whole, order_by=order, limit=select.limit, options=select.options, span=select.span)


def _united(queries: list[Query], select: Select) -> Query:
    return reduce(lambda left, right: Union(left, right, is_all=True, span=select.span), queries)


def _by_name(key: SortKey, select: Select) -> SortKey:
    """A sort key over the union: an item that is sorted by is asked by its name."""
    for item in select.items:
        if item.alias is not None and item.expr == key.expr:
            return replace(key, expr=Column(item.alias, span=key.span))
    return key


def _is_several(key: Expr) -> bool:
    return isinstance(key, Call) and key.name in (_SETS, _ROLLUP, _CUBE)


def _meant(key: Expr, select: Select) -> Expr:
    """A key with positions and aliases of the select list put right, inside of groupings only. A number in an expression is a number."""
    if not isinstance(key, Call) or not _is_several(key):
        return key

    def meant(part: Expr) -> Expr:
        if isinstance(part, Call) and _is_several(part):
            return _meant(part, select)
        if isinstance(part, Call) and row_items(part) is not None:
            return replace(part, args=tuple(map(meant, part.args)))
        if isinstance(part, Literal) and isinstance(part.value, int) and 1 <= part.value <= len(select.items):
            return select.items[part.value - 1].expr
        if isinstance(part, Column) and part.qualifier is None:
            return next((item.expr for item in select.items if (item.alias or "").lower() == part.name.lower()), part)
        return part

    return replace(key, args=tuple(map(meant, key.args)))


def _groupings(key: Expr) -> list[Grouping]:
    """What one part of GROUP BY groups by, each way."""
    if not isinstance(key, Call) or not _is_several(key):
        return [(key,)]
    parts = [_keys_of(part) for part in key.args]
    if key.name == _SETS:
        return [grouping for part in key.args for grouping in (_groupings(part) if _is_several(part) else [_keys_of(part)])]
    if key.name == _ROLLUP:
        chosen: Iterator[Sequence[Grouping]] = (parts[:count] for count in range(len(parts), -1, -1))
    else:
        chosen = (some for count in range(len(parts), -1, -1) for some in combinations(parts, count))
    return [tuple(key for part in some for key in part) for some in chosen]


def _keys_of(part: Expr) -> Grouping:
    items = row_items(part)
    return (part,) if items is None else items


def _of_grouping(select: Select, grouping: Grouping, keys: tuple[Expr, ...]) -> Select:
    """The query for one grouping: a key that it leaves out is NULL, but not inside an aggregate."""

    def is_among(node: Node, some: tuple[Expr, ...]) -> bool:
        return any(node == key or _same_column(node, key) for key in some)

    def change(node: Node) -> Node | None:
        if isinstance(node, Call) and node.name.lower() in ASKED:
            bits = [0 if is_among(arg, grouping) else 1 for arg in node.args or keys]
            return Literal(reduce(lambda number, bit: 2 * number + bit, bits, 0), span=node.span)
        if isinstance(node, Call) and node.name.lower() in AGGREGATE_NAMES:
            return node
        return Literal(None, span=node.span) if is_among(node, keys) and not is_among(node, grouping) else None

    def item(one: SelectItem) -> SelectItem:
        expr = transform_node(one.expr, change)
        named = one.expr.name if isinstance(one.expr, Column | Field) and expr is not one.expr else None
        return replace(one, expr=expr, alias=one.alias or named)

    having = None if select.having is None else transform_node(select.having, change)
    return replace(select, items=tuple(map(item, select.items)), group_by=grouping, having=having)


def _same_column(one: Node, other: Node) -> bool:
    if not isinstance(one, Column) or not isinstance(other, Column) or one.name.lower() != other.name.lower():
        return False
    return one.qualifier is None or other.qualifier is None or one.qualifier.lower() == other.qualifier.lower()
