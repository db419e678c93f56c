"""The Spark session a job runs in, with the settings that small batches need."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from windrow.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings that decide what results mean: they hold for every session, given or made.
MEANING: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    # Variables are ours to replace: what is left of ${...} is text.
    "spark.sql.variable.substitute": "false",
}

# Settings that decide how fast small batches are; a user's own choice goes first.
SPEED: dict[str, str] = {
    # Adaptive execution plans every stage anew, which costs more than it gains on plans of one exchange.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # Spark writes every plan out as text, even where nobody looks: for plans as wide as ours that costs milliseconds a batch.
    "spark.sql.maxPlanStringLength": "1000",
    # A dead letter has every column of its row, so a plan of ours is as wide as its source. Spark does not compile plans of more columns.
    "spark.sql.codegen.maxFields": "1000",
}

_LOCAL: dict[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    # What Spark compiles of a wide plan is longer than what Java takes for a method worth compiling; it halves the time of 200 columns.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Xss8m -XX:-DontCompileHugeMethods",
    # Tasks run in the driver's own process: what they give need not be laid down as a block and fetched from there.
    "spark.task.maxDirectResultSize": "100m",
}


def make_session(master: str = "local[*]", settings: Mapping[str, str] | None = None, app_name: str = "windrow") -> SparkSession:
    """A session of our own. Local ones are quiet, bound to loopback and need nothing but Java."""
    ensure_java(install=False).activate()
    from pyspark.sql import SparkSession

    chosen = {**SPEED, **MEANING, "spark.sql.shuffle.partitions": str(_parallelism(master))}
    if master.startswith("local"):
        chosen.update(_LOCAL)
    chosen.update(settings or {})
    builder = SparkSession.builder.appName(app_name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # What goes wrong reaches the user as an error of ours; Spark would print its whole stack beside it.
    spark.sparkContext.setLogLevel("FATAL")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return spark


def adopt_session(spark: SparkSession, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session beside a given one: the same cluster, but our settings do not leak into the user's own queries."""
    own = spark.newSession()
    for key, value in {**SPEED, **MEANING, **(settings or {})}.items():
        own.conf.set(key, value)
    return own


def _parallelism(master: str) -> int:
    """As many shuffle partitions as cores: more cost 20 ms a batch each."""
    inside = master.removeprefix("local[").removesuffix("]").split(",")[0] if master.startswith("local[") else ""
    if inside.isdigit():
        return int(inside)
    return os.cpu_count() or 2 if master.startswith("local") else 16
