"""The files of examples/corpus belong together: a query that says what it is for, its input and result, and at times a plain query."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.markdown import ROOT
from windrow.sql import parse
from windrow.testing import load_cases

CORPUS = ROOT / "examples" / "corpus"
QUERIES = sorted(path for path in CORPUS.glob("*/*.sql") if not path.name.endswith(".batch.sql"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_query_has_a_head_a_case_and_rows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("-- ")
    assert parse(text, path.name, {}).statements
    (case,) = load_cases(path.with_suffix(".json"))
    assert case.sql == text
    assert case.expected


def test_every_file_belongs_to_a_query() -> None:
    stems = {path.with_suffix("") for path in QUERIES}
    files = [path for path in CORPUS.glob("*/*") if path.is_file()]
    assert [path for path in files if path.parent / path.name.partition(".")[0] not in stems] == []


def test_names_are_unique() -> None:
    assert len({path.stem for path in QUERIES}) == len(QUERIES)
