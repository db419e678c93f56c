"""Files by number: a row takes eight bytes along instead of the name of its file, which is looked up for those that are set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from windrow.connectors.runtime import TOPIC_NUMBER
from windrow.spark.internals import file_scan
from windrow.spark.internals.fast_paths import FILE_SCAN, fast_paths_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ADDRESS_SQL = "input_file_name()"
NUMBER_SQL = f"xxhash64({ADDRESS_SQL})"
_SEED = 42  # of Spark's function
_SIGN = 1 << 63


def address_as_path(address: str) -> str:
    """SQL of the path in what Spark says of a file: percent-encoded, but a plus in it is a plus; and a path of this machine has one
    slash elsewhere.
    """
    return f"try_url_decode(replace(regexp_replace({address}, '^file:///', 'file:/'), '+', '%2B'))"


def file_paths(batch: DataFrame) -> dict[int, str]:
    """The paths of the files that a micro-batch reads, by their numbers."""
    return fast_paths_of(batch.sparkSession).attempt(FILE_SCAN, lambda: _of_plan(batch), lambda: _of_rows(batch))


def _of_plan(batch: DataFrame) -> dict[int, str]:
    return {_number(path.encoded): path.plain for path in file_scan.file_paths(batch)}


def _of_rows(batch: DataFrame) -> dict[int, str]:
    """Every row is asked for its file, which is known while it is read."""
    named = batch.selectExpr(TOPIC_NUMBER, f"{address_as_path(ADDRESS_SQL)} AS path").distinct().toArrow()
    return dict(zip(named[TOPIC_NUMBER].to_pylist(), named["path"].to_pylist(), strict=True))


def _number(name: str) -> int:
    """As Spark has it: a whole number with a sign.

    >>> _number("a")
    -8582455328737087284
    """
    return (xxh64_intdigest(name.encode(), _SEED) ^ _SIGN) - _SIGN
