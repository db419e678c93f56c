"""Whether the Python of every executor reaches a folder that is on no disk: a word is written there by each, and read by the driver."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from windrow.errors import WindrowError
from windrow.spark.internals.executors import executor_ids, hosts_of, is_cluster, job_group, python_tasks
from windrow.spark.internals.java_errors import spark_errors
from windrow.spark.internals.lost_executors import refuse_if_lost
from windrow.storage import Files, Folder, StorageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = {"": "this machine"}


def unreached(spark: SparkSession, folder: Folder, files: Files) -> str | None:
    """What one of the executors fails with; None where all that are there can write what the driver then finds."""
    hosts = hosts_of(spark, executor_ids(spark)) if is_cluster(spark) else {}
    word = f".reached-{uuid.uuid4().hex[:12]}"
    child = files.child(word)

    def write(_rows: Iterator[Any]) -> Iterator[tuple[str, str]]:
        name = uuid.uuid4().hex
        try:
            child.replace_atomically(name, name.encode())
            wrong = "" if child.read(name) == name.encode() else "what was written is not what is there"
        except WindrowError as error:
            wrong = error.message
        yield name, wrong

    try:
        with job_group(spark, "whether executors reach the state's folder"):
            told = python_tasks(spark, hosts).mapPartitions(write).collect()
    except spark_errors() as error:
        refuse_if_lost(error)
        lines = [line for line in str(error).splitlines() if line.strip()]
        return f"{folder.path}: {lines[0] if lines else type(error).__name__}"
    try:
        there = set(folder.child(word).names())
    finally:
        _forget(folder, word)
    for host, (name, wrong) in zip((hosts or _HERE).values(), told, strict=True):
        if wrong or name not in there:
            return f"{host} does not reach {folder.path} as the driver does: {wrong or 'the driver does not find what was written there'}"
    return None


def _forget(folder: Folder, word: str) -> None:
    try:
        folder.remove(word)
    except StorageError:
        return
