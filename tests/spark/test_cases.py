"""Every case of tests/conformance/cases on the real engine: as written, with restarts, and through Structured Streaming."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.testing import Case, CaseRunner, load_cases

CONFORMANCE = Path(__file__).parent.parent / "conformance"
CASES = [case for path in sorted((CONFORMANCE / "cases").glob("*.jsonl")) for case in load_cases(path)]
GAPS = {line for line in (CONFORMANCE / "gaps.txt").read_text().splitlines() if line and not line.startswith("#")}
RUNNING = [case for case in CASES if case.name not in GAPS and not case.expects_error]
# A few of each kind: the slow ways of running a case need not repeat every variation.
SAMPLE = [case for case in RUNNING if case.file != "generated.jsonl"][::7] + [case for case in RUNNING if case.file == "generated.jsonl"][
    ::4
]


def _name(case: Case) -> str:
    return case.name


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_gap_names_a_case() -> None:
    assert {case.name for case in CASES} >= GAPS


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark).run(case)
    if case.name in GAPS:
        assert verdict.is_unsupported, f"{case.name} is listed as a gap, but: {verdict.message or 'it passes'}"
    else:
        assert verdict.passed, verdict.message


@pytest.mark.parametrize("case", [case for case in SAMPLE if case.batches == "per_row"], ids=_name)
def test_restart_after_every_batch_changes_nothing(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, restart_every_batch=True).run(case)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("case", SAMPLE[1::2], ids=_name)
def test_state_on_the_executors_gives_the_same(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, home="distributed", restart_every_batch=case.batches == "per_row").run(case)
    assert verdict.passed, verdict.message


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNNING, ids=_name)
def test_every_case_with_state_on_the_executors(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, home="distributed").run(case)
    assert verdict.passed, verdict.message


def _ends_with_a_table(case: Case) -> bool:
    """Spark begins a batch for rows of a stream. One for rows of a table alone, which the other runners make, does not come."""
    rows = [row for row in case.rows or () if "_end" not in row]
    return bool(rows) and rows[-1].get("_stream") in case.tables


@pytest.mark.parametrize("case", [case for case in SAMPLE[::2] if not _ends_with_a_table(case)], ids=_name)
def test_structured_streaming_gives_the_same(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, streaming=True).run(case)
    assert verdict.passed, verdict.message
