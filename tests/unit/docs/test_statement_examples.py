"""docs/reference.md leaves out nothing that the grammar can make. Its examples are checked and planned by test_sql_blocks.py."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType

import pytest

from tools.reference.statements import load
from windrow.model import expr, query, statement, window
from windrow.model.expr import Node
from windrow.model.query import Join, JoinKind
from windrow.sql import parse
from windrow.sql.words import CLAUSES, STATEMENTS, WINDOW_CLAUSES

ENTRIES = [entry for section in load() for entry in section.entries]
# Bases, and what planning makes of a query.
NOT_WRITTEN = {Node, statement.StatementBase, expr.Asked, expr.Slot}


def nodes(value: object) -> Iterator[Node]:
    """Every node inside a value, whatever holds it."""
    if isinstance(value, Node):
        yield value
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from nodes(getattr(value, each.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from nodes(item)


@pytest.fixture(scope="module")
def written() -> list[Node]:
    return [node for entry in ENTRIES for node in nodes(parse(entry.sql, entry.title, {}).statements)]


@pytest.mark.parametrize("module", [statement, query, window, expr], ids=lambda module: module.__name__)
def test_every_kind_of_node_is_in_an_example(module: ModuleType, written: list[Node]) -> None:
    kinds = {kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__}
    shown = {type(node) for node in written}
    assert {kind.__name__ for kind in kinds if issubclass(kind, Node)} - {kind.__name__ for kind in shown | NOT_WRITTEN} == set()


def test_every_kind_of_join_is_in_an_example(written: list[Node]) -> None:
    assert {node.kind for node in written if isinstance(node, Join)} >= set(JoinKind) - {JoinKind.CROSS}


def test_every_clause_is_in_a_syntax_line() -> None:
    syntax = " ".join(entry.syntax for entry in ENTRIES)
    assert [words for words in (*STATEMENTS, *CLAUSES, *WINDOW_CLAUSES) if words not in syntax] == []
