"""The two sides of each comparison."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.data import COLUMNS
from windrow.compiler import compile_sql
from windrow.jobs import RunOptions, start


@dataclass(frozen=True)
class Query:
    """One comparison: a window clause for us, a grouping column for Spark."""

    name: str
    window_sql: str
    window: str  # kind and lengths for Spark: "tumbling 1 minute", "sliding 15 minutes 1 minute", "session 30 seconds"


QUERIES = {
    "tumbling": Query("tumbling", "TUMBLING(1m)", "tumbling|1 minute"),
    "sliding": Query("sliding", "SLIDING(15m, 1m)", "sliding|15 minutes|1 minute"),
    "session": Query("session", "SESSION(30s)", "session|30 seconds"),
}
DEFAULTS = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "200"}


def run_by_hand(
    spark: SparkSession, query: Query, source: Path, format_: str, files: int, work: Path, settings: dict[str, str]
) -> tuple[float, list[float]]:
    """An idiomatic streaming aggregation: seconds for everything, and for each batch. The settings name its state store."""
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    reader = session.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files)
    rows = (reader.json if format_ == "json" else reader.parquet)(str(source))
    rows = rows.withColumn("at", F.timestamp_millis("ts")).withWatermark("at", "5 seconds")
    grouped = rows.groupBy(_window(query), "symbol").agg(
        F.count("*").alias("n"), F.sum("volume").alias("volume"), F.min("price").alias("low"), F.max("price").alias("high")
    )
    started = time.monotonic()
    streaming = _sink(grouped, work)
    streaming.awaitTermination()
    taken = time.monotonic() - started
    return taken, [progress["durationMs"]["triggerExecution"] / 1000 for progress in streaming.recentProgress]


def _sink(frame: DataFrame, work: Path):  # type: ignore[no-untyped-def]  # a StreamingQuery
    shutil.rmtree(work, ignore_errors=True)
    writer = frame.writeStream.outputMode("append").format("parquet").option("path", str(work / "out"))
    return writer.option("checkpointLocation", str(work / "checkpoint")).trigger(availableNow=True).start()


def _window(query: Query):  # type: ignore[no-untyped-def]  # a pyspark Column
    kind, *lengths = query.window.split("|")
    if kind == "session":
        return F.session_window("at", lengths[0])
    return F.window("at", *lengths)


def run_windrow(spark: SparkSession, query: Query, source: Path, format_: str, files: int, work: Path) -> float:
    shutil.rmtree(work, ignore_errors=True)
    sql = f"""
    CREATE STREAM trades ({COLUMNS}) WITH (
      'connector' = 'files', 'path' = '{source}', 'format' = '{format_}', 'files.per_batch' = '{files}',
      'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');
    CREATE STREAM candles AS SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(volume) AS volume, MIN(price) AS low, MAX(price) AS high
      FROM trades GROUP BY symbol WINDOW {query.window_sql} WITH ('connector' = 'files', 'path' = '{work}/out', 'format' = 'parquet');
    """
    compiled = compile_sql(sql, env={})
    started = time.monotonic()
    jobs = start(compiled, RunOptions(mode="once", state=work / "state"), spark)
    jobs.await_end()
    taken = time.monotonic() - started
    status = jobs.status()[0]
    assert status.ledger.is_balanced, status.ledger.to_json()
    return taken
