"""Every error code is declared once and has its place in docs/errors.md."""

from __future__ import annotations

import re
from collections import Counter

from tests.unit.docs.markdown import ROOT
from windrow.codes import ALL_CODES, DECLARED

_CODE = re.compile(r'"(WR\d{3})"')


def used_in_source() -> dict[str, str]:
    """Code to one of the files that have it."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    return {code: path.name for path in sources for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_code_in_the_source_is_declared() -> None:
    assert {code: file for code, file in used_in_source().items() if code not in ALL_CODES} == {}


def test_every_declared_code_is_used() -> None:
    assert set(ALL_CODES) - set(used_in_source()) == set()


def test_no_code_is_declared_twice() -> None:
    counts = Counter(code for codes in DECLARED for code in codes)
    assert [code for code, count in counts.items() if count > 1] == []


def test_every_code_is_on_the_page_of_errors() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert [code for code in ALL_CODES if f"\n### {code}\n" not in page] == []


def test_meanings_are_written_as_part_of_a_sentence() -> None:
    assert [code for code, meaning in ALL_CODES.items() if not meaning or meaning.endswith(".")] == []
