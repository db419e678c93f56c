"""Running a source through a bounded stream, as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

Rows = list[dict[str, Any]]
Run = Callable[..., list[Rows]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Reads a streaming frame to its end; the rows, batch by batch. The same ``name`` goes on from its checkpoint."""

    def run_frame(frame: DataFrame, name: str = "run") -> list[Rows]:
        batches: list[Rows] = []

        def take(batch: DataFrame, _: int) -> None:
            batches.append(batch.toArrow().to_pylist())

        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / ".checkpoint" / name))
        query.trigger(availableNow=True).start().awaitTermination()
        return batches

    return run_frame
