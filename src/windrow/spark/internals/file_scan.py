"""What reads the files of a micro-batch: which pieces of which files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.spark.internals.jvm import jvm_of, kind_of, need_methods

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FilePath(NamedTuple):
    """``encoded`` is as ``input_file_name()`` gives it."""

    encoded: str
    plain: str


def probe(spark: SparkSession) -> None:
    jvm = jvm_of(spark)
    need_methods(jvm, "org.apache.spark.sql.execution.LogicalRDD", rdd=0)
    need_methods(jvm, "org.apache.spark.sql.execution.datasources.FileScanRDD", filePartitions=0, metadataColumns=0, dependencies=0)
    need_methods(jvm, "org.apache.spark.sql.execution.datasources.FilePartition", files=0)
    need_methods(jvm, "org.apache.spark.sql.execution.datasources.PartitionedFile", urlEncodedPath=0, filePath=0, start=0, length=0)


def file_paths(batch: DataFrame) -> list[FilePath]:
    """The files that a micro-batch reads."""
    scans = _scans(batch._jdf.logicalPlan().rdd())
    return [FilePath(str(file.urlEncodedPath()), str(file.filePath().toPath().toString())) for scan in scans for file in pieces_of(scan)]


def only_scan(batch: DataFrame) -> Any | None:
    """What reads the files of a micro-batch; None where it is not one thing alone."""
    plan = batch._jdf.logicalPlan()
    scans = list(_scans(plan.rdd())) if kind_of(plan) == "LogicalRDD" else []
    return scans[0] if len(scans) == 1 else None


def pieces_of(scan: Any) -> Iterator[Any]:
    """The pieces of files that are read, one after the other."""
    partitions = scan.filePartitions()
    for number in range(partitions.size()):
        yield from partitions.apply(number).files()


def _scans(rdd: Any) -> Iterator[Any]:
    """Whatever reads files for an RDD, however it is put together."""
    if kind_of(rdd) == "FileScanRDD":
        yield rdd
        return
    parents = rdd.dependencies()
    for number in range(parents.size()):
        yield from _scans(parents.apply(number).rdd())
