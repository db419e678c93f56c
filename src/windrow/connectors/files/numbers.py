"""Files by number: a row takes eight bytes along instead of the name of its file, which is looked up for those that are set aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xxhash import xxh64_intdigest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBER_SQL = "xxhash64(input_file_name())"
_SEED = 42  # of Spark's function
_SIGN = 1 << 63


def file_paths(batch: DataFrame) -> dict[int, str]:
    """The paths of the files that a micro-batch reads, by their numbers."""
    found: dict[int, str] = {}
    for scan in _scans(batch._jdf.logicalPlan().rdd()):
        for file in files_of(scan):
            found[_number(file.urlEncodedPath())] = file.filePath().toPath().toString()
    return found


def file_scan(batch: DataFrame) -> Any | None:
    """What reads the files of a micro-batch; None where it is not one thing alone."""
    plan = batch._jdf.logicalPlan()
    scans = list(_scans(plan.rdd())) if plan.getClass().getSimpleName() == "LogicalRDD" else []
    return scans[0] if len(scans) == 1 else None


def files_of(scan: Any) -> Iterator[Any]:
    """The pieces of files that are read, one after the other."""
    partitions = scan.filePartitions()
    for number in range(partitions.size()):
        yield from partitions.apply(number).files()


def _number(name: str) -> int:
    """As Spark has it: a whole number with a sign.

    >>> _number("a")
    -8582455328737087284
    """
    return (xxh64_intdigest(name.encode(), _SEED) ^ _SIGN) - _SIGN


def _scans(rdd: Any) -> Iterator[Any]:
    """Whatever reads files for an RDD, however it is put together."""
    if rdd.getClass().getSimpleName() == "FileScanRDD":
        yield rdd
        return
    parents = rdd.dependencies()
    for number in range(parents.size()):
        yield from _scans(parents.apply(number).rdd())
