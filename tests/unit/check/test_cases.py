"""Every case that expects rows passes the checks, and every case that expects an error fails them or the parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.check.inference import relation_of
from windrow.catalog import Catalog, Relation, build_catalog
from windrow.check import check
from windrow.check.blocks import query_of
from windrow.errors import SqlError
from windrow.model.expr import Node, walk
from windrow.model.query import NamedSource
from windrow.model.statement import Script
from windrow.sql import parse

CASES = Path(__file__).parents[2] / "conformance" / "cases"
# Nothing is wrong with the text of these: it is the rows that stop the job.
RUN_FAILS = frozenset(
    {
        "FAIL names the constraint and the row",
        "FAIL UPDATE is the same",
        "what stops the job is asked first",
        "FAIL of a query names the constraint and the row",
        "more bad rows than a limit stop the job",
        "a share counts among enough rows",
        "a span adds up batches, over a restart",
        "late rows of a statement have a limit",
    }
)


def _cases() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            case = json.loads(line)
            yield pytest.param(case, id=case["name"])


def _inferred(case: dict[str, Any], script: Script) -> dict[str, Relation]:
    tables = case.get("tables", [])
    if isinstance(case["input"], dict):
        return {name: relation_of(name, rows, "table" if name in tables else "stream") for name, rows in case["input"].items()}
    names = {node.name for statement in script.statements for node in _nodes(query_of(statement)) if isinstance(node, NamedSource)}
    found = {}
    for name in names:
        rows = [row for row in case["input"] if row.get("_stream", name) == name]
        found[name] = relation_of(name, rows, "table" if name in tables else "stream")
    return found


def _nodes(query: Node | None) -> Iterator[Node]:
    if query is not None:
        yield from walk(query)


def _shown(case: dict[str, Any]) -> list[str]:
    try:
        script = parse(case["sql"])
    except SqlError as error:
        return [str(error)]
    catalog = build_catalog(script, _inferred(case, script), CASES)
    return [found.render(script.source) for found in check(script, catalog) if found.code != "WR290" and not found.is_warning]


@pytest.mark.parametrize("case", list(_cases()))
def test_checks_never_raise(case: dict[str, Any]) -> None:
    try:
        script = parse(case["sql"])
    except SqlError:
        return
    check(script, Catalog())


@pytest.mark.parametrize("case", list(_cases()))
def test_checks_agree_with_the_case(case: dict[str, Any]) -> None:
    expected = case["expected"]
    wanted = expected.get("error") if isinstance(expected, dict) and "error" in expected else None
    shown = _shown(case)
    if wanted is None or case["name"] in RUN_FAILS:
        assert shown == []
    else:
        assert shown
        assert any(wanted in text for text in shown), shown
