"""Whatever the text, only SqlError comes out, and soon."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import SqlError
from windrow.sql import format_script, parse, parse_duration, parse_type

_QUERIES = (Path(__file__).parent / "queries.sql").read_text(encoding="utf-8").strip().split("\n\n")[1:]
_WORDS = sorted({word for query in _QUERIES for word in re.findall(r"\w+|\S", query)})
_ODD = [
    "'",
    '"',
    "`",
    "--",
    "/*",
    "*/",
    "\0",
    "é",
    "$",
    "${",
    "$${A}",
    "{#",
    "5x",
    "0x1",
    "1e",
    "1e999",
    "..",
    "::",
    "\r",
    "\u2028",
    "\ud800",
]


def _parse_or_refuse(text: str) -> None:
    try:
        script = parse(text)
    except SqlError as error:
        str(error)  # shows every diagnostic, which must not fail either
        return
    assert parse(format_script(script)).statements == script.statements


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    """A good query with a few words taken out, put in, replaced or swapped."""
    pieces = re.findall(r"\w+|\s+|\S", draw(st.sampled_from(_QUERIES)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(pieces) - 1))
        change = draw(st.sampled_from(("drop", "insert", "replace", "swap")))
        if change == "drop" and len(pieces) > 1:
            del pieces[at]
        elif change == "insert":
            pieces.insert(at, draw(st.sampled_from(_WORDS + _ODD)) + " ")
        elif change == "replace":
            pieces[at] = draw(st.sampled_from(_WORDS + _ODD))
        else:
            other = draw(st.integers(0, len(pieces) - 1))
            pieces[at], pieces[other] = pieces[other], pieces[at]
    return "".join(pieces)


@settings(max_examples=300, deadline=None)
@given(_mutated())
def test_mutated_queries_parse_and_round_trip_or_are_refused(text: str) -> None:
    _parse_or_refuse(text)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    _parse_or_refuse(text)
    parse_duration(text)
    parse_type(text)


@settings(max_examples=100, deadline=None)
@given(st.binary())
def test_binary_junk_is_parsed_or_refused(junk: bytes) -> None:
    _parse_or_refuse(junk.decode("latin-1"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "NOT " * 5000 + "a",
        "SELECT " + "- " * 5000 + "1",
        "SELECT " + "+".join("1" * 5000),
        "SELECT a" + ".b" * 5000,
        "SELECT a" + "[0]" * 5000,
        "SELECT " + "CASE WHEN " * 5000,
        "SELECT " + "f(" * 5000,
        "SELECT CAST(a AS " + "ARRAY<" * 5000 + "INT" + ">" * 5000 + ")",
        "SELECT * FROM " + "(SELECT * FROM " * 2000 + "t" + ")" * 2000,
        "SELECT 1" + " UNION ALL SELECT 1" * 2000,
        "WITH a AS (" * 5000,
    ],
    ids=lambda text: text[:30],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(SqlError, match="WR114"):
        parse(text)


@pytest.mark.parametrize("text", ["\0", "\0" * 1000, "'" * 9999, "/*" * 9999, ";" * 9999, "9" * 9999, "x" * 99999, "${" * 9999, "5m" * 999])
def test_long_junk_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        parse(text)


def test_moderate_nesting_and_long_lists_are_fine() -> None:
    parse("SELECT " + "(" * 60 + "1" + ")" * 60)
    parse("SELECT a FROM t WHERE " + " OR ".join(["a = 1"] * 100))
    parse("SELECT " + ", ".join(["a"] * 2000) + " FROM t WHERE a IN (" + ", ".join(["1"] * 2000) + ")")


def test_a_fault_in_one_statement_does_not_hide_the_next() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT FROM a; SELECT 1; SELECT 5x; CREATE BANANA; SELECT 'open")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["WR100", "WR104", "WR100", "WR108"]
