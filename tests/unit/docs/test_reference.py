"""The generated parts of the documentation are what tools/generate_reference.py writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.markdown import PAGES, shown
from tools.reference.pages import REGIONS, generate

GENERATED = generate()


@pytest.mark.parametrize("page", GENERATED, ids=shown)
def test_page_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == GENERATED[page], "run: .venv/bin/python tools/generate_reference.py"


def test_every_region_is_used() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in REGIONS if f"<!-- generated: {name} -->" not in text] == []
