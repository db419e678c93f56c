"""How much a running query reads of each of its sources in a batch, changed between two batches.

Spark takes such a limit from the options of a source once, when a query starts. It keeps it beside the source, and asks there before
each batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from windrow.spark.internals.jvm import jvm_of, kind_of, need_methods

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"
_WRAPPER = "org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper"
_LIMIT = "org.apache.spark.sql.connector.read.streaming.ReadLimit"
_OF_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceReadLimit"
_SET = "uniqueSources_$eq"


def probe(spark: SparkSession) -> None:
    jvm = jvm_of(spark)
    need_methods(jvm, _WRAPPER, streamingQuery=0)
    need_methods(jvm, _EXECUTION, sources=0, uniqueSources=0, **{_SET: 1})
    need_methods(jvm, _LIMIT, maxRows=1, maxFiles=1)
    need_methods(jvm, _OF_PYTHON, json=0, copy=1)


def set_read_limits(query: StreamingQuery, spark: SparkSession, limits: Mapping[int, int]) -> None:
    """From the next batch on, by the place of a source among those of the query. A source without a limit of its own keeps to that."""
    execution: Any = query._jsq.streamingQuery()
    sources, asked = execution.sources(), execution.uniqueSources()
    make = jvm_of(spark).org.apache.spark.sql.connector.read.streaming.ReadLimit
    for place, most in limits.items():
        source = sources.apply(place)
        own = asked.apply(source)
        kind = kind_of(own)
        if kind == "ReadMaxRows":
            asked = asked.updated(source, make.maxRows(most))
        elif kind == "ReadMaxFiles":
            asked = asked.updated(source, make.maxFiles(most))
        elif kind == "PythonStreamingSourceReadLimit" and "max_rows" in (told := json.loads(own.json())):
            asked = asked.updated(source, own.copy(json.dumps({**told, "max_rows": most})))
    getattr(execution, _SET)(asked)
