"""What users of other systems write first, and what they are told. The fixture holds ``==``, the SQL, ``--``, and what is shown.

What is accepted shows the same statement in the words of this dialect. ``WINDROW_UPDATE=1 pytest tests/unit/check`` writes what is
shown now into the file, to be reviewed as a diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.check.relations import RELATIONS
from windrow.catalog import build_catalog
from windrow.catalog.functions import function
from windrow.check import check, in_order
from windrow.check.foreign_names import FUNCTIONS
from windrow.check.foreign_options import CONNECTOR_NAMES
from windrow.connectors.registry import CONNECTORS
from windrow.sql import format_script, read, unaffected
from windrow.sql.foreign_words import FOREIGN_WORDS

FIXTURE = Path(__file__).parent / "newcomers.txt"
USELESS = ('write ")"', "write a column, a value or a call", 'remove "', "known types:")


def entries() -> Iterator[tuple[str, str]]:
    for block in ("\n" + FIXTURE.read_text()).split("\n==\n")[1:]:
        sql, _, shown = block.partition("\n--")
        yield sql.strip("\n"), shown.strip("\n")


def shown(sql: str) -> str:
    reading = read(sql)
    script = unaffected(reading)
    found = in_order((*reading.faults, *check(script, build_catalog(script, RELATIONS))))
    if found:
        return "\n".join(one.render(script.source) for one in found)
    return format_script(script).rstrip("\n")


@pytest.mark.skipif("WINDROW_UPDATE" not in os.environ, reason="only when asked to update")
def test_update() -> None:
    FIXTURE.write_text("\n".join(f"==\n{sql}\n--\n{shown(sql)}" for sql, _ in entries()) + "\n")


@pytest.mark.parametrize(("sql", "expected"), [pytest.param(sql, text, id=sql[:60]) for sql, text in entries()])
def test_shown(sql: str, expected: str) -> None:
    assert shown(sql) == expected


@pytest.mark.parametrize("text", [pytest.param(text, id=sql[:60]) for sql, text in entries()])
def test_no_hint_is_useless(text: str) -> None:
    hints = [line.strip().removeprefix("hint: ") for line in text.splitlines() if line.startswith("  hint: ")]
    assert [hint for hint in hints if hint.startswith(USELESS)] == []


def test_every_word_from_elsewhere_is_met() -> None:
    texts = FIXTURE.read_text()
    # The part of a message before what it holds of the user's text.
    assert [word.pattern for word in FOREIGN_WORDS if f"[WR118] {word.message.split('{')[0]}" not in texts] == []


def test_functions_from_elsewhere_are_not_here() -> None:
    assert [name for name in FUNCTIONS if function(name) is not None] == []


def test_connectors_from_elsewhere_are_those_here() -> None:
    assert {name for name in CONNECTOR_NAMES.values() if name not in CONNECTORS} == set()
    assert [name for name in CONNECTOR_NAMES if name in CONNECTORS] == []
