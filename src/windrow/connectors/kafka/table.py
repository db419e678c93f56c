"""A compacted topic as a table: all of it, or what came since the offsets of the last load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.kafka.brokers import Bounds
from windrow.connectors.kafka.source_settings import EARLIEST

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

# Offsets by topic and partition, as Spark's connector spells them: the next record to read.
Offsets = dict[str, dict[str, int]]

# A record without a value takes back those before it with the same key.
_TAKEN_BACK = "max(offset) FILTER (WHERE value IS NULL) OVER (PARTITION BY topic, partition, key)"
_IS_TOMBSTONE = "value IS NULL AND key IS NOT NULL"


@dataclass(frozen=True)
class Span:
    """What a load reads. ``is_increment``: what was loaded before stays, but for what is taken back."""

    start: Offsets
    end: Offsets
    is_increment: bool

    @property
    def is_empty(self) -> bool:
        return self.start == self.end

    @property
    def offset(self) -> str:
        return json.dumps(self.end)

    @property
    def options(self) -> dict[str, str]:
        return {"startingOffsets": json.dumps(self.start), "endingOffsets": self.offset}


def span_of(bounds: Mapping[str, Mapping[int, Bounds]], since: str | None) -> Span:
    """From where the last load ended, if every record since then is still there; else all of it.

    >>> span_of({"t": {0: Bounds(0, 9), 1: Bounds(0, 4)}}, '{"t": {"0": 7}}').start
    {'t': {'0': 7, '1': -2}}
    >>> span_of({"t": {0: Bounds(8, 9)}}, '{"t": {"0": 7}}').start
    {'t': {'0': -2}}
    """
    end = {topic: {str(number): own.end for number, own in each.items()} for topic, each in bounds.items()}
    whole = {topic: dict.fromkeys(each, EARLIEST) for topic, each in end.items()}
    if since is None:
        return Span(whole, end, is_increment=False)
    had: Offsets = json.loads(since)
    known = [
        (at, bounds[topic][int(number)] if topic in bounds and int(number) in bounds[topic] else None)
        for topic, each in had.items()
        for number, at in each.items()
    ]
    # A topic that was deleted and made anew begins again; one whose retention took records may have taken the last of a key.
    if any(own is None or not own.start <= at <= own.end for at, own in known):
        return Span(whole, end, is_increment=False)
    start = {topic: {number: had.get(topic, {}).get(number, EARLIEST) for number in each} for topic, each in end.items()}
    return Span(start, end, is_increment=True)


def latest_records(records: DataFrame) -> DataFrame:
    """Without tombstones and what they take back."""
    marked = records.selectExpr("*", f"{_TAKEN_BACK} AS taken_back")
    return marked.where("value IS NOT NULL AND (key IS NULL OR offset > coalesce(taken_back, -1))")


def taken_back(records: DataFrame, key: Column) -> pa.Table:
    """What an increment takes back, by the columns that rows of a table have. ``key`` is what ``_key`` is made of."""
    gone = records.where(_IS_TOMBSTONE).selectExpr("*", "topic AS _topic", "partition AS _partition")
    return gone.select("_topic", "_partition", key.alias("_key")).distinct().toArrow()
