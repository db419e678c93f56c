"""Error texts: ``errors.txt`` holds a statement, ``=>`` and exactly what the user sees, with a blank line between entries."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from windrow.errors import SqlError
from windrow.sql import SYNTAX_CODES, parse

_TEXT = (Path(__file__).parent / "errors.txt").read_text(encoding="utf-8")
_ENTRIES = [entry.strip("\n").split("\n=>\n") for entry in re.split(r"\n\n(?=.*(?:\n.+)*?\n=>\n)", _TEXT)]


@pytest.mark.parametrize(("sql", "shown"), _ENTRIES)
def test_what_the_user_sees(sql: str, shown: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(sql)
    assert str(caught.value) == shown


@pytest.mark.parametrize("sql", [sql for sql, _ in _ENTRIES])
def test_every_diagnostic_has_a_declared_code_a_place_and_a_hint(sql: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(sql)
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.code in SYNTAX_CODES
        assert diagnostic.span is not None
        assert diagnostic.hint


def test_every_code_has_an_example() -> None:
    shown = set(re.findall(r"^\[(WR\d+)\]", _TEXT, re.MULTILINE))
    tested_elsewhere = {"WR103", "WR107", "WR114"}  # placeholders in test_environment, nesting in test_robustness
    assert shown | tested_elsewhere == set(SYNTAX_CODES)


def test_errors_name_the_file_and_pickle() -> None:
    with pytest.raises(SqlError, match=r"no statement in job\.sql") as caught:
        parse("  \n/* nothing */ ; ;", "job.sql")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.diagnostics == caught.value.diagnostics
