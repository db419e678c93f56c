"""Rules on models that the parser never gives but other callers may build."""

from __future__ import annotations

from tests.unit.check.relations import RELATIONS
from windrow.catalog import build_catalog
from windrow.check import check
from windrow.model.expr import Binary, Call, Column, Expr, Literal, Slot, Star
from windrow.model.place import SourceText
from windrow.model.query import EmitFinal, Join, JoinKind, NamedSource, Select, SelectItem, Union, Within
from windrow.model.statement import CreateStreamAs, Script, SelectStatement
from windrow.model.window import BoundedOutOfOrderness, EveryInterval, WindowClause
from windrow.model.window_kinds import Rows, Sliding, Tumbling

COUNT = (SelectItem(Call("COUNT", (Star(),)), "n"),)
TRADES = NamedSource("trades")


def codes(query: Select | Union) -> list[str]:
    script = Script((SelectStatement(query),), SourceText(""))
    return [found.code for found in check(script, build_catalog(script, RELATIONS)) if found.code != "WR290"]


def test_star_stands_alone_or_in_count() -> None:
    assert codes(Select((SelectItem(Call("UPPER", (Star(),)), "u"),), TRADES)) == ["WR216"]
    assert codes(Select((SelectItem(Star(), "x"),), TRADES)) == ["WR216"]
    assert codes(Select((SelectItem(Star()),))) == ["WR219"]


def test_join_needs_a_condition() -> None:
    join = Join(JoinKind.INNER, NamedSource("b"), within=Within(1, 1))
    assert codes(Select((SelectItem(Column("k", "a")),), NamedSource("a"), (join,))) == ["WR251"]


def test_within_is_not_negative() -> None:
    join = Join(JoinKind.INNER, NamedSource("b"), Binary("=", Column("k", "a"), Column("k", "b")), within=Within(-1, -1))
    assert codes(Select((SelectItem(Column("k", "a")),), NamedSource("a"), (join,))) == ["WR242"]


def test_limit_is_not_negative() -> None:
    assert codes(Select((SelectItem(Column("symbol")),), TRADES, limit=-1)) == ["WR255"]


def test_lengths_are_above_zero() -> None:
    for kind in (Tumbling(0), Sliding(10, 0), Rows(0)):
        assert codes(Select(COUNT, TRADES, window=WindowClause(kind))) == ["WR242"]
    window = WindowClause(Tumbling(10), watermark=BoundedOutOfOrderness(-1), triggers=(EveryInterval(0),), allowed_lateness=-1)
    assert len([code for code in codes(Select(COUNT, TRADES, window=window)) if code == "WR242"]) == 3


def test_nesting_beyond_all_reason_is_a_diagnostic() -> None:
    deep: Expr = Literal(1)
    for _ in range(5000):
        deep = Binary("+", deep, Literal(1))
    query = Select((SelectItem(deep, "x"),), TRADES)
    assert codes(query) == ["WR299"]
    script = Script((CreateStreamAs("out", query),), SourceText(""))
    assert [found.code for found in check(script, build_catalog(script, RELATIONS))] == ["WR299"]


def test_what_only_the_planner_makes_is_no_fault() -> None:
    assert codes(Select((SelectItem(Slot("k0"), "x"),), TRADES, emit=EmitFinal())) == []


def test_an_empty_select_is_no_crash() -> None:
    assert codes(Union(Select(()), Select(()))) == ["WR219"]
