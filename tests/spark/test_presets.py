"""The cases of every preset, on the engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.presets import PRESETS, write_project
from windrow.testing import CaseRunner, load_cases

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_project_passes_its_cases(spark: SparkSession, tmp_path: Path, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(preset, tmp_path)
    monkeypatch.chdir(tmp_path)
    runner = CaseRunner(spark)
    verdicts = [runner.run(case) for path in sorted(Path("cases").iterdir()) for case in load_cases(path)]
    assert verdicts
    assert [f"{verdict.case.name}: {verdict.message}" for verdict in verdicts if not verdict.passed] == []
