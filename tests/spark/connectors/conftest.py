"""Running a source through a bounded stream, as the engine does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from windrow.connectors.runtime import SourceStream

Rows = list[dict[str, Any]]
Run = Callable[..., list[Rows]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Reads a stream to its end; the rows, batch by batch. The same ``name`` goes on from its checkpoint.

    Of a whole stream, rows have the columns too that are computed after the hand-over.
    """

    def run_frame(given: DataFrame | SourceStream, name: str = "run") -> list[Rows]:
        batches: list[Rows] = []
        frame, later = (given.frame, {**given.task_local_columns, **given.lazy_columns}) if isinstance(given, SourceStream) else (given, {})

        def take(batch: DataFrame, _: int) -> None:
            whole = batch.selectExpr("*", *(f"{sql} AS {name}" for name, sql in later.items()))
            batches.append(whole.toArrow().to_pylist())

        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / ".checkpoint" / name))
        query.trigger(availableNow=True).start().awaitTermination()
        return batches

    return run_frame
