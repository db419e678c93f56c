"""The examples: each is checked, has cases, and its cases test the very statements of its query. Run by tests/spark/test_examples.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.docs.markdown import ROOT
from windrow.compiler import compile_sql
from windrow.model.options import Options
from windrow.model.query import Select
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, Script, Statement
from windrow.sql import parse
from windrow.testing import load_cases

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/query.sql"))
# What says where rows come from and go to, and nothing about what they mean.
_PLACES = ("connector", "path", "format", "files.per_batch")


def meaning_of(script: Script) -> list[Statement]:
    """The statements without the places of their rows, and without their positions in the text."""
    return [_without_places(statement) for statement in script.statements]


def _without_places(statement: Statement) -> Statement:
    if isinstance(statement, CreateStream | CreateTable):
        return replace(statement, options=_kept(statement.options))
    if isinstance(statement, CreateStreamAs) and isinstance(statement.query, Select):
        return replace(statement, options=_kept(statement.options), query=replace(statement.query, options=Options()))
    return statement


def _kept(options: Options) -> Options:
    return Options(tuple(entry for entry in options if entry.key not in _PLACES))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example_is_checked_and_has_input(folder: Path) -> None:
    sql = (folder / "query.sql").read_text(encoding="utf-8")
    compile_sql(sql, f"{folder.name}/query.sql", {})
    assert f"'examples/{folder.name}/input" in sql
    assert list((folder / "input").glob("*.json"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_cases_test_the_query_itself(folder: Path) -> None:
    query = parse((folder / "query.sql").read_text(encoding="utf-8"), "query.sql", {})
    for case in load_cases(folder / "cases.jsonl"):
        assert meaning_of(parse(case.sql, case.name, {})) == meaning_of(query), case.name


def test_every_example_is_in_the_index() -> None:
    index = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert [folder.name for folder in EXAMPLES if f"../examples/{folder.name}/query.sql" not in index] == []


def test_readme_shows_the_candles_example() -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    sql = (ROOT / "examples" / "candles" / "query.sql").read_text(encoding="utf-8")
    assert "\n".join(line for line in sql.splitlines() if not line.startswith("--")).strip() in shown
