"""The examples of examples/corpus, and their meaning over a bounded input as plain Spark SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from windrow.model.statement import CreateStream, CreateTable
from windrow.model.types import ColumnDef
from windrow.sql import parse
from windrow.testing import Case
from windrow.testing.case import MARKERS
from windrow.testing.compare import plain
from windrow.testing.inference import infer_columns

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"


def batch_rows(spark: SparkSession, case: Case, sql: str) -> list[Mapping[str, Any]]:
    """What a plain query gives over all rows of a case, each source a view with ``_ts`` and ``_event_time`` beside its columns."""
    declared = {s.name: s.columns for s in parse(case.sql).statements if isinstance(s, CreateStream | CreateTable)}
    for name, rows in (case.streams or {}).items():
        _create_view(spark, name, [dict(row) for row in rows if not MARKERS & row.keys()], declared.get(name))
    return [plain(row.asDict(recursive=True)) for row in spark.sql(sql).collect()]


def _create_view(spark: SparkSession, name: str, rows: list[dict[str, Any]], declared: tuple[ColumnDef, ...] | None) -> None:
    columns = declared or infer_columns(rows)
    schema = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    texts = spark.createDataFrame([(json.dumps(row),) for row in rows], "text STRING")
    frame = texts.selectExpr(f"from_json(text, '{schema}, _ts BIGINT') AS row").select("row.*")
    frame.selectExpr("*", "timestamp_millis(_ts) AS _event_time").createOrReplaceTempView(name)
