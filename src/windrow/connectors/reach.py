"""Folders of the driver's disk on a cluster: right where every machine mounts them, and a loss of rows where each has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.spark.internals.shared_folders import not_shared
from windrow.storage.opening import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_SHARED = "WR514"
REACH_HINT = "name a folder that all machines mount, or one of a file system that all of them reach: 'path' = 'hdfs://...', 's3a://...'"


def refuse_unshared(spark: SparkSession, what: str, address: str) -> None:
    """``address`` is a folder with its scheme. On a local master, and for file systems that are not local, there is nothing to find out."""
    folder = local_path(address) if address.startswith("file:") else None
    if folder is None:
        return
    found = not_shared(spark, folder)
    if found is not None:
        raise UsageError(NOT_SHARED, f"{what}: {found.told(folder)}", REACH_HINT)
