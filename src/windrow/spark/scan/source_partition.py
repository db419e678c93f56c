"""Which partition of its source a row belongs to, as the clock counts them."""

from __future__ import annotations

from windrow.connectors.registry import CONNECTORS
from windrow.plan.stages import Read


def source_partition_sql(read: Read) -> str:
    """SQL of a whole number over the row's system columns."""
    return CONNECTORS[read.connector].partition_sql(dict(read.options))
