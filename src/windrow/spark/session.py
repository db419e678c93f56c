"""The Spark session a job runs in, with the settings that small batches need."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.java import ensure_java
from windrow.settings import environment, spark_defaults, starting_with
from windrow.spark.internals.class_archive import archive_path, reading_option
from windrow.spark.internals.executors import is_cluster_master
from windrow.spark.internals.fast_paths import open_fast_paths
from windrow.spark.internals.java_process import launch_jvm
from windrow.spark.internals.sessions import session_like, set_explicitly
from windrow.spark.shipping import OWN, shipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
NO_CONNECT, OVERRIDDEN = "WR605", "WR606"
_CONNECT = "sc://"
_SHUFFLES = "spark.sql.shuffle.partitions"

# Settings that decide what results mean: they hold for every session, given or made.
MEANING: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # The size of NULL is NULL, as in Spark with ANSI, Flink and ksqlDB; without this it is -1.
    "spark.sql.legacy.sizeOfNull": "false",
    # A key that comes twice in a map would stop the job.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    # Variables are ours to replace: what is left of ${...} is text.
    "spark.sql.variable.substitute": "false",
}

CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing"
# The fastest on a local disk. Elsewhere it will not do: a rename that answers false is but a line in its log.
LOCAL_CHECKPOINTS = f"{_MANAGERS}.FileSystemBasedCheckpointFileManager"
ATOMIC_CHECKPOINTS = f"{_MANAGERS}.FileContextBasedCheckpointFileManager"

# Settings that decide how fast small batches are; a user's own choice goes first.
SPEED: dict[str, str] = {
    # Adaptive execution plans every stage anew, which costs more than it gains on plans of one exchange.
    "spark.sql.adaptive.enabled": "false",
    CHECKPOINTS: LOCAL_CHECKPOINTS,
    # Spark writes every plan out as text, even where nobody looks: for plans as wide as ours that costs milliseconds a batch.
    "spark.sql.maxPlanStringLength": "1000",
    # A dead letter has every column of its row, so a plan of ours is as wide as its source. Spark does not compile plans of more columns.
    "spark.sql.codegen.maxFields": "1000",
}

# What Spark compiles of a wide plan is longer than what Java takes for a method worth compiling; it halves the time of 200 columns.
LOCAL_JAVA_OPTIONS = "-XX:+UseParallelGC -Xss8m -XX:-DontCompileHugeMethods"

_LOCAL: dict[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    # Tasks run in the driver's own process: what they give need not be laid down as a block and fetched from there.
    "spark.task.maxDirectResultSize": "100m",
}

# What only fills gaps on a cluster. Executors parse deep expressions and compile wide plans as a local master does.
_CLUSTER: dict[str, str] = {
    "spark.executor.extraJavaOptions": "-Xss8m -XX:-DontCompileHugeMethods",
    # A machine that hangs holds its batch up for so long, and not for two minutes.
    "spark.network.timeout": "60s",
    # Spark looks once a minute whether somebody is past that, and takes no timeout that is shorter than between two looks.
    "spark.network.timeoutInterval": "15s",
    "spark.executor.heartbeatInterval": "5s",
    "spark.ui.showConsoleProgress": "false",
}


def make_session(
    master: str = "local[*]", settings: Mapping[str, str] | None = None, app_name: str = "windrow", *, has_fast_paths: bool = True
) -> SparkSession:
    """A session of our own. Local ones are quiet, bound to loopback and need nothing but Java.

    ``settings`` are Spark's, and ``workers.*``: what the executors of a cluster get.
    """
    _refuse_remote(master, settings or {})
    sent = shipped(master, settings or {})
    java = ensure_java(install=False)
    java.activate()
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    configured = spark_defaults()
    fills = {**SPEED, _SHUFFLES: str(_parallelism(master)), **(_CLUSTER if is_cluster_master(master) else {})}
    chosen = {**{key: value for key, value in fills.items() if key not in configured}, **MEANING}
    if master.startswith("local"):
        chosen.update(_LOCAL)
        chosen["spark.driver.extraJavaOptions"] = f"{LOCAL_JAVA_OPTIONS} {reading_option(archive_path(java))}".rstrip()
    chosen.update({key: value for key, value in (settings or {}).items() if key not in OWN})
    chosen.update(sent.settings)
    builder = SparkSession.builder.appName(app_name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with starting_with(sent.python):
        launch_jvm(SparkConf().setAll([("spark.master", master), ("spark.app.name", app_name), *chosen.items()]), sent.stands_in)
        spark = builder.getOrCreate()
    # What goes wrong reaches the user as an error of ours; Spark would print its whole stack beside it.
    spark.sparkContext.setLogLevel("FATAL")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    open_fast_paths(spark, is_on=has_fast_paths)
    return spark


def adopt_session(spark: SparkSession, settings: Mapping[str, str] | None = None, *, has_fast_paths: bool = True) -> SparkSession:
    """A session beside a given one: the same cluster, and what the user has set there. Nothing of the given session changes.

    Ours fill the gaps. Those that results depend on are set whatever the user has, and told where that differs.
    """
    refuse_connect(spark)
    given = set_explicitly(spark)
    own = session_like(spark, given)
    for key, value in {**SPEED, **_shuffles_of(spark)}.items():
        if key not in given:
            own.conf.set(key, value)
    for key, value in {**MEANING, **(settings or {})}.items():
        own.conf.set(key, value)
    differing = {key: value for key, value in overridden(given).items() if key not in (settings or {})}
    if differing:
        told = ", ".join(f"{key} = {value} (yours: {given[key]})" for key, value in differing.items())
        LOG.warning("[%s] results depend on settings that the given session has otherwise; in sessions of ours: %s", OVERRIDDEN, told)
    open_fast_paths(own, is_on=has_fast_paths)
    return own


def keep_checkpoints_elsewhere(spark: SparkSession) -> None:
    """For checkpoints that are not on a local disk: Spark's own way, in which a failed rename is an error. A user's choice stays."""
    if spark.conf.get(CHECKPOINTS, LOCAL_CHECKPOINTS) == LOCAL_CHECKPOINTS:
        spark.conf.set(CHECKPOINTS, ATOMIC_CHECKPOINTS)


def overridden(given: Mapping[str, str]) -> dict[str, str]:
    """The settings with a meaning that somebody has set to another value, with ours.

    >>> overridden({"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "FALSE", "spark.sql.shuffle.partitions": "7"})
    {'spark.sql.ansi.enabled': 'false'}
    """
    return {key: value for key, value in MEANING.items() if key in given and given[key].lower() != value.lower()}


def refuse_connect(spark: object) -> None:
    """A client of Spark Connect has no driver in this process: neither plans nor micro-batches can be had there."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise _no_connect("the given session is a client of Spark Connect")


def _refuse_remote(master: str, settings: Mapping[str, str]) -> None:
    if master.startswith(_CONNECT):
        raise _no_connect(f"the master {master} is a server of Spark Connect")
    if "spark.remote" in settings:
        raise _no_connect(f"spark.remote = {settings['spark.remote']} asks for Spark Connect")
    if (remote := environment().get("SPARK_REMOTE")) is not None:
        raise _no_connect(f"SPARK_REMOTE = {remote} in the environment asks for Spark Connect")


def _no_connect(what: str) -> UsageError:
    hint = "run in the driver: --master local[*], spark://..., yarn or k8s://..., or hand over a session of such a master"
    return UsageError(NO_CONNECT, f"{what}, which Windrow does not run on: it needs the driver's JVM in its own process", hint)


def _shuffles_of(spark: SparkSession) -> dict[str, str]:
    """On a cluster Spark's own choice stays."""
    master = spark.sparkContext.master or ""
    return {_SHUFFLES: str(_parallelism(master))} if master.startswith("local") else {}


def _parallelism(master: str) -> int:
    """As many shuffle partitions as cores: more cost 20 ms a batch each."""
    inside = master.removeprefix("local[").removesuffix("]").split(",")[0] if master.startswith("local[") else ""
    if inside.isdigit():
        return int(inside)
    return os.cpu_count() or 2 if master.startswith("local") else 16
