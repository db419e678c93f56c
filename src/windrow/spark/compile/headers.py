"""Headers of the rows that go out."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.plan.stages import HeaderChange
from windrow.spark.compile.expressions import to_sql


def headers_sql(changes: Iterable[HeaderChange], before: str) -> str:
    """The headers of an output row: those it came with, after every change in turn."""
    headers = before
    for change in changes:
        key = to_sql(change.key)
        kept = f"map_filter(coalesce({headers}, CAST(map() AS MAP<STRING, STRING>)), (k, v) -> k <> {key})"
        headers = kept if change.value is None else f"map_concat({kept}, map({key}, CAST({to_sql(change.value)} AS STRING)))"
    return headers
