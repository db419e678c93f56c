"""Aggregates as three expressions: ``partial`` (Catalyst, per group and slice), ``merge`` (tables), ``finish`` (Catalyst).

Takes a call's arguments as Spark SQL text, gives SQL text and Polars expressions. A new aggregate is one entry in one of
these files and a case. Must not know: Spark itself, windows, state.
"""

from windrow.aggregates.base import Aggregate, Part, Signature, orders_its_value
from windrow.aggregates.registry import AGGREGATES, ALL_ROWS, LAST_ROW, find_aggregate, takes_whole_rows

__all__ = [
    "AGGREGATES",
    "ALL_ROWS",
    "LAST_ROW",
    "Aggregate",
    "Part",
    "Signature",
    "find_aggregate",
    "orders_its_value",
    "takes_whole_rows",
]
