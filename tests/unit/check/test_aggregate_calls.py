"""What must be the same for every row is refused as a column, whichever aggregate it is an argument of."""

from __future__ import annotations

import pytest

from tests.unit.check.aggregate_calls import accepted, calls, different
from windrow.aggregates.base import orders_its_value
from windrow.aggregates.registry import AGGREGATES, find_aggregate
from windrow.model.expr import Call, Column, Expr, walk
from windrow.model.query import Select
from windrow.model.statement import SelectStatement
from windrow.sql import parse


def _call(text: str) -> Call:
    statement = parse(f"SELECT {text}").statements[0]
    assert isinstance(statement, SelectStatement)
    assert isinstance(statement.query, Select)
    call = statement.query.items[0].expr
    assert isinstance(call, Call)
    return call


def _constants(call: Call) -> list[Expr]:
    form = find_aggregate(call)
    ahead = 1 if orders_its_value(call) else 0
    places = [] if form is None else [place - ahead for place in form.constant_args]
    return [call.args[place] for place in places if place < len(call.args)]


@pytest.mark.parametrize("name", different())
def test_constants_are_no_columns(name: str) -> None:
    written = list(dict.fromkeys(calls(name)))
    assert any(accepted(call) for call in written), "no call of it passes"
    wrong = [text for text in written if any(isinstance(node, Column) for arg in _constants(_call(text)) for node in walk(arg))]
    assert [text for text in wrong if accepted(text)] == []


def test_every_aggregate_is_among_them() -> None:
    assert {id(AGGREGATES[name]) for name in different()} == {id(form) for form in AGGREGATES.values()}
