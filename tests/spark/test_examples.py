"""Every case of the examples, on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.testing import Case, CaseRunner, load_cases

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = [case for path in sorted(EXAMPLES.glob("*/cases.jsonl")) for case in load_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark).run(case)
    assert verdict.passed, verdict.message
