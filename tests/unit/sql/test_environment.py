"""Placeholders and their places."""

from __future__ import annotations

import pytest

from windrow.errors import SqlError
from windrow.sql import format_script, parse, substitute

_ENV = {"A": "x", "EMPTY": "", "QUOTE": "it's", "TICK": "a`b", "NESTED": "${A}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "x"),
        ("${EMPTY}|", "|"),
        ("${B:-fallback}", "fallback"),
        ("${EMPTY:-fallback}", "fallback"),
        ("${A:-fallback}", "x"),
        ("${B:-}", ""),
        ("${A:?needed}", "x"),
        ("'${QUOTE}'", "'it''s'"),
        ("`${TICK}`", "`a``b`"),
        ("${NESTED}", "${A}"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("$A $ {A}", "$A $ {A}"),
        ("-- ${B}\n${A}", "-- ${B}\nx"),
        ("/* ${B} */${A}", "/* ${B} */x"),
        ("'-- ${A}'", "'-- x'"),
        ("'it''s ${A}' -- ${B}", "'it''s x' -- ${B}"),
        ("${B:-it's}", "it's"),
    ],
)
def test_substitution(text: str, expected: str) -> None:
    assert substitute(text, _ENV) == expected


def test_all_missing_variables_are_told_with_their_places() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT ${B}\nFROM ${C:?name the stream} WHERE ${1}", "job.sql", _ENV)
    assert str(caught.value) == (
        '[WR103] environment variable "B" is not set\n'
        "  1 | SELECT ${B}\n"
        "    |        ^^^^\n"
        "  hint: export B=..., or give a default: ${B:-value}\n"
        '[WR103] environment variable "C" is not set: name the stream\n'
        "  2 | FROM ${C:?name the stream} WHERE ${1}\n"
        "    |      ^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: export C=..., or give a default: ${C:-value}\n"
        "[WR107] this placeholder cannot be read\n"
        "  2 | FROM ${C:?name the stream} WHERE ${1}\n"
        "    |                                  ^^^^\n"
        "  hint: write ${NAME}, ${NAME:-default} or ${NAME:?message}; $${ stands for ${ itself"
    )


def test_a_placeholder_must_be_closed_on_its_line() -> None:
    with pytest.raises(SqlError, match="WR107"):
        substitute("${A\n}", _ENV)


def test_spans_point_into_the_text_after_substitution() -> None:
    script = parse("SELECT ${A} FROM t", env={"A": "price"})
    assert script.source.text == "SELECT price FROM t"


def test_the_formatter_escapes_what_looks_like_a_placeholder() -> None:
    script = parse("SELECT '$${A}' FROM t")
    assert format_script(script) == "SELECT '$${A}'\nFROM t;\n"
