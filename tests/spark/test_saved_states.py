"""Saved states are gone on from: what comes next is what came next when they were saved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.saved_states.resuming import FOLDER, HERE, ResumedJob, SavedState

# A representative few; the others are loaded without Spark.
NAMES = ["tumbling_late", "session", "interval_join", "buckets"]


@pytest.mark.parametrize("folder", [path for name in NAMES for path in sorted(HERE.glob(f"*/{name}"))], ids=lambda path: path.name)
def test_it_goes_on(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    saved = SavedState.read(folder)
    shutil.copytree(folder / FOLDER, tmp_path / FOLDER)
    job = ResumedJob(spark, saved, tmp_path / FOLDER)
    for batch in saved.next:
        job.take(batch)
    assert job.outputs == saved.outputs
    assert job.outputs, "a state that nothing comes of shows nothing"
