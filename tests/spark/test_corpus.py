"""Every example of the corpus on the real engine, and its result by a plain query over the same rows where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.corpus import CORPUS, batch_rows
from windrow.testing import Case, CaseRunner, load_cases
from windrow.testing.compare import difference

EXAMPLES = sorted(CORPUS.glob("*/*.json"))
WITH_BATCH_MEANING = [path for path in EXAMPLES if path.with_suffix(".batch.sql").exists()]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _case(path: Path) -> Case:
    (case,) = load_cases(path)
    return case


@pytest.mark.parametrize("path", EXAMPLES, ids=_name)
def test_example(spark: SparkSession, path: Path) -> None:
    verdict = CaseRunner(spark).run(_case(path))
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("path", WITH_BATCH_MEANING, ids=_name)
def test_a_plain_query_over_all_rows_gives_the_same(spark: SparkSession, path: Path) -> None:
    case = _case(path)
    rows = batch_rows(spark, case, path.with_suffix(".batch.sql").read_text(encoding="utf-8"))
    assert difference(case.expected, rows, "any", case.tolerance) is None
