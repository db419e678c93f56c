"""Every error code has one example: a fixture that shows it, or a situation with the test that provokes it."""

from __future__ import annotations

import re

import pytest

from tests.unit.docs.markdown import ROOT
from tests.unit.docs.raised import templates
from tools.reference.errors import Situation, error_examples, load
from windrow.codes import ALL_CODES

SITUATIONS = load()
RAISED = templates(ROOT / "src" / "windrow")


def test_every_code_has_one_example() -> None:
    shown = set(error_examples())
    assert set(SITUATIONS) | shown == set(ALL_CODES)
    assert set(SITUATIONS) & shown == set()


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=lambda situation: situation.code)
def test_the_test_of_a_situation_is_there_and_names_the_code(situation: Situation) -> None:
    file, _, name = situation.test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^ *def {name}\(", text, re.MULTILINE)
    assert situation.code in text


@pytest.mark.parametrize("situation", [each for each in SITUATIONS.values() if each.code in RAISED], ids=lambda situation: situation.code)
def test_what_is_said_is_what_the_source_says(situation: Situation) -> None:
    assert [pattern for pattern in RAISED[situation.code] if pattern.fullmatch(situation.says)]
