"""Frames on the console: one action, the count of everything, the first rows shown."""

from __future__ import annotations

import io

from pyspark.sql import SparkSession
from rich.console import Console

from windrow.connectors.console.runtime import open_sink, use_console
from windrow.connectors.runtime import Output, SinkRequest


def test_a_frame_is_cut_and_counted_in_one_action(spark: SparkSession) -> None:
    printed = io.StringIO()
    before = use_console(Console(file=printed))
    try:
        made = open_sink(spark, SinkRequest("out", {"rows": "2"}))
        made.open()
        spark.sparkContext.setJobGroup("console", "console")
        made.write(Output(5, ("id",), frame=spark.range(0, 1236, 1, 3).selectExpr("id", "'late' AS _emission")))
        made.write(Output(6, ("id",), frame=spark.range(0)))
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("console")
    finally:
        use_console(before)
    lines = printed.getvalue().splitlines()
    assert "out · batch 5 · " in lines[0]
    assert lines[1].split() == ["id", "_emission"]
    assert [line.split() for line in lines[3:5]] == [["0", "late"], ["1", "late"]]
    assert lines[5] == "... and 1,234 more rows"
    assert len(jobs) <= 2
    assert "batch 6" not in printed.getvalue()
