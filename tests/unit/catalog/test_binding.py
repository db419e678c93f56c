"""What names mean, in place of the names: aliases, sides of a join, fields, parameters."""

from __future__ import annotations

import pytest

from windrow.catalog import build_catalog
from windrow.catalog.binding import bind_select
from windrow.catalog.typing import select_scopes
from windrow.model.query import Select
from windrow.model.statement import SelectStatement
from windrow.plan.join_names import JoinInput
from windrow.sql import parse, render_expr

CREATED = """
CREATE STREAM a (k INT, v INT, s STRUCT<x INT, v INT>) WITH ('connector' = 'memory');
CREATE STREAM b (k INT, w INT) WITH ('connector' = 'memory');
CREATE STREAM c (k INT, z INT) WITH ('connector' = 'memory');
"""


def bound(sql: str) -> Select:
    script = parse(CREATED + sql, "test", {})
    statement = script.statements[-1]
    assert isinstance(statement, SelectStatement)
    assert isinstance(statement.query, Select)
    catalog = build_catalog(script)
    bindings = select_scopes(statement.query, catalog).rows.bindings
    inputs = tuple(JoinInput.of(each, each.name, place) for place, each in enumerate(bindings)) if statement.query.joins else ()
    return bind_select(statement.query, catalog, inputs)


def items(sql: str) -> list[str]:
    return [f"{render_expr(item.expr)} AS {item.alias}" for item in bound(sql).items]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT A.K, v AS V, V + 1 AS w FROM a", ["k AS K", "v AS V", "v + 1 AS w"]),
        # An alias that is an aggregate is not seen by another one: both mean the column.
        ("SELECT SUM(v) AS v, MAX(v) AS m FROM a", ["SUM(v) AS v", "MAX(v) AS m"]),
        ("SELECT SUM(a.v) AS v, MAX(v) AS m FROM a JOIN b ON a.k = b.k", ["SUM(`a.v`) AS v", "MAX(`a.v`) AS m"]),
        # An alias of such an alias is one, too.
        ("SELECT SUM(v) AS n, n + 1 AS v, MAX(v) AS m FROM a", ["SUM(v) AS n", "SUM(v) + 1 AS v", "MAX(v) AS m"]),
        ("SELECT v + 1 AS q, transform(array(1), x -> x + q) AS t FROM a", ["v + 1 AS q", "transform(array(1), x -> x + (v + 1)) AS t"]),
        ("SELECT v AS x, transform(array(1), x -> x + V) AS t FROM a", ["v AS x", "transform(array(1), x -> x + v) AS t"]),
        ("SELECT s.v, a.s.x FROM a", ["(s).v AS v", "(s).x AS x"]),
        ("SELECT * FROM a JOIN b USING (k)", ["`a.k` AS k", "`a.v` AS v", "`a.s` AS s", "`b.w` AS w"]),
        ("SELECT k FROM a FULL JOIN b USING (k)", ["coalesce(`a.k`, `b.k`) AS k"]),
        ("SELECT b.* FROM a JOIN b USING (k)", ["`b.k` AS k", "`b.w` AS w"]),
    ],
)
def test_items(sql: str, expected: list[str]) -> None:
    assert items(sql) == expected


def test_using_is_bound_from_left_to_right() -> None:
    conditions = [render_expr(join.on) for join in bound("SELECT z FROM a RIGHT JOIN b USING (k) JOIN c USING (k)").joins if join.on]
    assert conditions == ["`a.k` = `b.k`", "`b.k` = `c.k`"]


def test_on_does_not_see_what_a_later_using_makes() -> None:
    first, _ = bound("SELECT z FROM a JOIN b ON v = w RIGHT JOIN c USING (k)").joins
    assert first.on is not None
    assert render_expr(first.on) == "`a.v` = `b.w`"


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("SELECT v + 1 AS q FROM a GROUP BY q", "v + 1"),
        # A column goes before an alias of the same name.
        ("SELECT v + 1 AS k FROM a GROUP BY k", "k"),
        ("SELECT v + 1 AS q FROM a GROUP BY abs(q)", "abs(v + 1)"),
    ],
)
def test_group_by_asks_columns_first(sql: str, key: str) -> None:
    assert [render_expr(expr) for expr in bound(sql).group_by] == [key]


def test_having_and_order_by_see_every_alias() -> None:
    select = bound("SELECT k, SUM(v) AS total FROM a GROUP BY k HAVING total > 3 ORDER BY total")
    assert select.having is not None
    assert render_expr(select.having) == "SUM(v) > 3"
    assert render_expr(select.order_by[0].expr) == "SUM(v)"
