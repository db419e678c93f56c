"""Several sources in one streaming query: each row says which it came from, and each source is picked out again in the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from windrow.spark.compile.expressions import quote, text_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHICH = "_which_source"
_TICK = "_tick"


def multiplex_sources(spark: SparkSession, frames: Mapping[str, DataFrame], *, with_ticks: bool) -> DataFrame:
    """One frame for all. A single source stays as it is. Ticks are a row a second, so that time goes on without rows."""
    if len(frames) == 1 and not with_ticks:
        return next(iter(frames.values()))
    parts = []
    types = {name: frame.schema.simpleString() for name, frame in frames.items()}
    for name, frame in frames.items():
        own = ", ".join(quote(column) for column in frame.columns)
        columns = [f"struct({own}) AS {quote(n)}" if n == name else f"CAST(NULL AS {types[n]}) AS {quote(n)}" for n in frames]
        parts.append(frame.selectExpr(f"{text_literal(name)} AS {_WHICH}", *columns))
    if with_ticks:
        ticks = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
        parts.append(ticks.selectExpr(f"'{_TICK}' AS {_WHICH}", *(f"CAST(NULL AS {types[n]}) AS {quote(n)}" for n in frames)))
    mixed = parts[0]
    for part in parts[1:]:
        mixed = mixed.unionByName(part)
    return mixed


def source_of_multiplex(name: str, mixed: str) -> str:
    """SQL of the rows of one source again. The optimiser drops the other branches, so nothing is read that is not asked for."""
    return f"(SELECT inline(array({quote(name)})) FROM {mixed} WHERE {_WHICH} = {text_literal(name)})"
