"""Which conditions act before a join, by kind of join."""

from __future__ import annotations

import pytest

from windrow.compiler import compile_sql
from windrow.plan.stages import IntervalJoin
from windrow.sql import render_expr

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, y STRING, unused STRING) WITH ('connector' = 'files', 'path' = '{name}');" for name in "abc"
)


def joins(tail: str, options: str = "") -> list[IntervalJoin]:
    sql = f"{STREAMS}SELECT a.k FROM a {tail} {options}"
    return [stage for stage in compile_sql(sql, "t.sql", {}).plan.jobs[0].stages if isinstance(stage, IntervalJoin)]


def filters(join: IntervalJoin) -> tuple[str | None, str | None]:
    shown = [None if side.where is None else render_expr(side.where).replace("`", "") for side in (join.left, join.right)]
    return shown[0], shown[1]


@pytest.mark.parametrize(
    ("kind", "condition", "expected"),
    [
        ("JOIN", "WHERE a.x > 1 AND b.x > 2", ("a.x > 1", "b.x > 2")),
        ("JOIN", "AND a.x > 1 AND b.x > 2", ("a.x > 1", "b.x > 2")),
        ("LEFT JOIN", "WHERE a.x > 1", ("a.x > 1", None)),
        ("LEFT JOIN", "WHERE b.x > 1", (None, "b.x > 1")),
        ("LEFT JOIN", "WHERE b.x IS NULL", (None, None)),
        ("LEFT JOIN", "WHERE COALESCE(b.x, 0) > 1", (None, None)),
        ("LEFT JOIN", "WHERE b.x > 1 OR a.x > 1", (None, None)),
        ("LEFT JOIN", "WHERE rand() > 0.5 AND a.x > rand()", (None, None)),
        ("LEFT JOIN", "AND a.x > 1", (None, None)),
        ("LEFT JOIN", "AND b.x > 1", (None, "b.x > 1")),
        ("RIGHT JOIN", "WHERE b.x > 1", (None, "b.x > 1")),
        ("RIGHT JOIN", "WHERE a.x > 1", ("a.x > 1", None)),
        ("RIGHT JOIN", "WHERE a.x IS NULL", (None, None)),
        ("RIGHT JOIN", "AND a.x > 1", ("a.x > 1", None)),
        ("RIGHT JOIN", "AND b.x > 1", (None, None)),
        ("FULL JOIN", "WHERE a.x > 1 AND b.x > 1", (None, None)),
        ("FULL JOIN", "AND a.x > 1 AND b.x > 1", (None, None)),
    ],
)
def test_a_condition_acts_where_the_kind_of_join_allows_it(kind: str, condition: str, expected: tuple[str | None, str | None]) -> None:
    assert filters(joins(f"{kind} b WITHIN 5s ON a.k = b.k {condition}")[0]) == expected


@pytest.mark.parametrize(("kind", "where"), [("LEFT", "b.x > 1"), ("RIGHT", "a.x > 1"), ("LEFT", "b.y LIKE 'x%' AND a.x = 1")])
def test_an_outer_join_whose_lone_rows_cannot_pass_is_an_inner_one(kind: str, where: str) -> None:
    join = joins(f"{kind} JOIN b WITHIN 5s ON a.k = b.k WHERE {where}")[0]
    assert not join.keeps_left
    assert not join.keeps_right
    assert join.rewrites[0].startswith(f"{kind} JOIN runs as JOIN")


def test_of_three_streams_each_filter_acts_on_its_own() -> None:
    first, second = joins("LEFT JOIN b WITHIN 5s ON a.k = b.k JOIN c WITHIN 5s ON a.k = c.k WHERE a.x > 1 AND b.x > 2 AND c.x > 3")
    assert filters(first) == ("a.x > 1", "b.x > 2")
    assert filters(second) == (None, "c.x > 3")


def test_nothing_moves_where_an_error_stops_the_job() -> None:
    assert filters(joins("JOIN b WITHIN 5s ON a.k = b.k WHERE a.x > 1", "WITH ('error.policy' = 'fail')")[0]) == (None, None)


def test_only_what_somebody_asks_for_later_is_kept() -> None:
    join = joins("JOIN b WITHIN 5s ON a.k = b.k AND a.x + b.x > 3 WHERE b.y = 'z'")[0]
    assert [column.name for column in join.left.columns] == ["k", "x"]
    assert [column.name for column in join.right.columns] == ["x"]
    assert {column.name for column in join.right.compared} >= {"k", "y"}
