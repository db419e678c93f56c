"""Queries over views as Spark SQL text: what a subquery reads."""

from __future__ import annotations

from windrow.model.query import DerivedSource, Join, LateralView, Query, Select, SelectItem, Source, Union
from windrow.spark.compile.expressions import quote, sort_sql, to_sql


def query_sql(query: Query) -> str:
    """``NamedSource`` s are called by the name of their view, common tables are spelled out.

    >>> from windrow.model.expr import Column
    >>> from windrow.model.query import NamedSource
    >>> query_sql(Select((SelectItem(Column("id", "v")),), NamedSource("vips", "v")))
    'SELECT `v`.`id` FROM `global_temp`.`vips` AS `v`'
    """
    if isinstance(query, Union):
        return f"({query_sql(query.left)}) UNION {'ALL ' if query.is_all else ''}({query_sql(query.right)})"
    parts = [f"SELECT {'DISTINCT ' if query.is_distinct else ''}{', '.join(map(_item, query.items))}"]
    if query.source is not None:
        parts.append(f"FROM {_source(query.source)}")
    parts += [_join(join) for join in query.joins]
    parts += [_view(view) for view in query.lateral_views]
    parts += _clauses(query)
    return " ".join(parts)


def _clauses(select: Select) -> list[str]:
    clauses = {
        "WHERE": [] if select.where is None else [to_sql(select.where)],
        "GROUP BY": [to_sql(expr) for expr in select.group_by],
        "HAVING": [] if select.having is None else [to_sql(select.having)],
        "QUALIFY": [] if select.qualify is None else [to_sql(select.qualify)],
        "ORDER BY": [sort_sql(key) for key in select.order_by],
        "LIMIT": [] if select.limit is None else [str(select.limit)],
    }
    return [f"{word} {', '.join(parts)}" for word, parts in clauses.items() if parts]


def _item(item: SelectItem) -> str:
    return to_sql(item.expr) + ("" if item.alias is None else f" AS {quote(item.alias)}")


def _source(source: Source) -> str:
    alias = "" if source.alias is None else f" AS {quote(source.alias)}"
    if isinstance(source, DerivedSource):
        return f"({query_sql(source.query)}){alias}"
    return f"`global_temp`.{quote(source.name)}{alias}"


def _join(join: Join) -> str:
    condition = "" if join.on is None else f" ON {to_sql(join.on)}"
    if join.using:
        condition = f" USING ({', '.join(map(quote, join.using))})"
    return f"{join.kind.value} JOIN {_source(join.source)}{condition}"


def _view(view: LateralView) -> str:
    columns = f" AS {', '.join(map(quote, view.columns))}" if view.columns else ""
    return f"LATERAL VIEW {'OUTER ' if view.is_outer else ''}{to_sql(view.call)} {quote(view.alias or '_view')}{columns}"
