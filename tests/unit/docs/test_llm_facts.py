"""The page of facts names every case of its file, and no other."""

from __future__ import annotations

import json
import re

from tests.unit.docs.markdown import ROOT


def test_every_fact_has_its_case_and_every_case_its_fact() -> None:
    cases = (ROOT / "tests/conformance/cases/llm_ops.jsonl").read_text(encoding="utf-8").splitlines()
    named = re.findall(r"\| `(\w+)` \|$", (ROOT / "docs/llm-facts.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {json.loads(line)["name"] for line in cases} == set(named)
