"""Saved states are gone on from: what comes next is what came next when they were saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.saved_states.resuming import FOLDER, HERE, ResumedJob, SavedState

# A representative few, of one sort each; the others are loaded without Spark here, and gone on from in the night.
NAMES = ["tumbling_late", "session", "interval_join", "buckets", "asof_join", "waiting_lookup", "switched", "metrics"]
OTHERS = sorted({path.parent.name for path in HERE.glob("*/*/saved.json")} - {*NAMES})


def _folders(names: list[str]) -> list[Path]:
    return [path for name in names for path in sorted(HERE.glob(f"*/{name}"))]


@pytest.mark.parametrize(
    "folder",
    [*_folders(NAMES), *(pytest.param(path, marks=pytest.mark.slow) for path in _folders(OTHERS))],
    ids=lambda path: path.name,
)
def test_it_goes_on(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    saved = SavedState.read(folder)
    shutil.copytree(folder / FOLDER, tmp_path / FOLDER)
    job = ResumedJob(spark, saved, tmp_path / FOLDER)
    for batch in saved.next:
        job.take(batch)
    assert job.outputs == saved.outputs
    assert job.metrics == saved.metrics
    assert job.outputs, "a state that nothing comes of shows nothing"
