"""Whole diagnostics as a user reads them. Fixture files hold ``==``, the SQL, ``--``, and what is shown.

``WINDROW_UPDATE=1 pytest tests/unit/check`` writes what is shown now into the files, to be reviewed as a diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.check.relations import RELATIONS
from windrow.catalog import build_catalog
from windrow.check import check
from windrow.check.codes import CODES
from windrow.check.rules.unsupported import GAPS
from windrow.errors import SqlError
from windrow.sql import parse

FOLDER = Path(__file__).parent / "diagnostics"
FILES = sorted(FOLDER.glob("*.txt"))


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    for block in ("\n" + path.read_text()).split("\n==\n")[1:]:
        # A line of two dashes and nothing else: an annotation starts with them too.
        sql, expected = re.split(r"\n--(?=\n|$)", block, maxsplit=1)
        yield sql.strip("\n"), expected.strip("\n")


def _shown(sql: str, path: Path) -> str:
    try:
        script = parse(sql)
    except SqlError as error:
        return str(error)
    found = check(script, build_catalog(script, RELATIONS))
    is_gap_file, is_warning_file = path.stem == "unsupported", path.stem == "warnings"
    listed = [one for one in found if (one.code == "WR290") == is_gap_file and (is_warning_file or not one.is_warning)]
    return "\n".join(one.render(script.source) for one in listed)


@pytest.mark.skipif("WINDROW_UPDATE" not in os.environ, reason="only when asked to update")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_update(path: Path) -> None:
    blocks = [f"==\n{sql}\n--\n{_shown(sql, path)}".rstrip("\n") for sql, _ in _entries(path)]
    path.write_text("\n".join(blocks) + "\n")


@pytest.mark.parametrize(
    ("path", "sql", "expected"),
    [pytest.param(path, sql, expected, id=f"{path.stem}-{sql[:50]}") for path in FILES for sql, expected in _entries(path)],
)
def test_shown(path: Path, sql: str, expected: str) -> None:
    assert _shown(sql, path) == expected


def test_every_code_has_a_fixture_or_a_test() -> None:
    texts = "".join(path.read_text() for path in FILES) + "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [code for code in CODES if f"[{code}]" not in texts and f'"{code}"' not in texts] == []


def test_every_code_shown_is_declared() -> None:
    shown = {line[1:6] for path in FILES for line in path.read_text().splitlines() if line.startswith("[WR")}
    assert shown <= set(CODES)


def test_every_gap_has_a_fixture() -> None:
    text = (FOLDER / "unsupported.txt").read_text()
    assert [gap.what for gap in GAPS if f"{gap.what} not supported yet" not in text] == []


def test_accepted_sql_shows_nothing() -> None:
    # An update of the fixtures must not bless a complaint.
    assert [sql for sql, expected in _entries(FOLDER / "accepted.txt") if expected] == []
