"""Conformance cases on the cluster: batches are decoded, grouped and joined on machines that have nothing of ours but the archive."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.spark.internals.executors import executor_ids
from windrow.spark.internals.workers import lacking
from windrow.storage import Files, NotForWorkers, open_folder
from windrow.testing import Case, CaseRunner, load_cases

CONFORMANCE = Path(__file__).parents[1] / "conformance"
GAPS = set((CONFORMANCE / "gaps.txt").read_text(encoding="utf-8").splitlines())


def _sample() -> list[Case]:
    """One of every file of cases, and a second one of the long ones: every kind of statement, some sixty in all."""
    found: list[Case] = []
    for path in sorted((CONFORMANCE / "cases").glob("*.jsonl")):
        running = [case for case in load_cases(path) if case.name not in GAPS and not case.expects_error]
        found += running[len(running) // 2 :][:1]
        found += running[:1] if len(running) > 25 else []
    return found


CASES = _sample()


def test_there_are_cases_of_every_kind() -> None:
    assert len(CASES) >= 60


def test_workers_have_what_they_need(spark: SparkSession) -> None:
    assert lacking(spark, ("pyarrow", "polars", "windrow")) == ()
    assert executor_ids(spark)


@pytest.fixture(scope="module")
def buckets(spark: SparkSession, hdfs: str) -> Files:
    """Where executors keep what they hold of the state."""
    found = open_folder(f"{hdfs}/cases", spark).for_workers()
    assert not isinstance(found, NotForWorkers), found.reason
    return found


@pytest.mark.parametrize("home", ["resident", "distributed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(spark: SparkSession, buckets: Files, case: Case, home: str) -> None:
    verdict = CaseRunner(spark, home=home, buckets=buckets).run(case)
    assert verdict.passed, verdict.message
