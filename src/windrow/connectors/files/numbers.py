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
    for file in _files(batch._jdf.logicalPlan().rdd()):
        found[_number(file.urlEncodedPath())] = file.filePath().toPath().toString()
    return found


def _number(name: str) -> int:
    """As Spark has it: a whole number with a sign.

    >>> _number("a")
    -8582455328737087284
    """
    return (xxh64_intdigest(name.encode(), _SEED) ^ _SIGN) - _SIGN


def _files(rdd: Any) -> Iterator[Any]:
    """What the RDD reads, however it is put together."""
    if rdd.getClass().getSimpleName() == "FileScanRDD":
        partitions = rdd.filePartitions()
        for number in range(partitions.size()):
            yield from partitions.apply(number).files()
        return
    parents = rdd.dependencies()
    for number in range(parents.size()):
        yield from _files(parents.apply(number).rdd())
