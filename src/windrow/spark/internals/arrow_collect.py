"""Rows of Spark as Arrow batches without the whole of them: of single partitions, and of physical plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.spark.internals.arrow_types import arrow_schema
from windrow.spark.internals.jvm import MisfitError, jvm_of, need_methods

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Takes over the rows of a partition that was computed, once.
Computed = Callable[[], Iterator[pa.RecordBatch]]
_ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


def probe(spark: SparkSession) -> None:
    import pyspark.util
    from pyspark.serializers import NoOpSerializer

    if not hasattr(pyspark.util, "_load_from_socket") or not hasattr(NoOpSerializer, "load_stream"):
        raise MisfitError("pyspark.util has no _load_from_socket")
    need_methods(jvm_of(spark), "org.apache.spark.api.python.PythonRDD", runJob=3, collectAndServe=1)
    need_methods(jvm_of(spark), "org.apache.spark.sql.classic.Dataset", toArrowBatchRdd=1, logicalPlan=0)


class EncodedPartitions:
    """The partitions of a frame, each to be computed by a job of its own; ``rows_at_once`` is how many go into one Arrow batch."""

    def __init__(self, frame: DataFrame, rows_at_once: int) -> None:
        session = frame.sparkSession
        before = session.conf.get(_ROWS_PER_BATCH) or "10000"
        session.conf.set(_ROWS_PER_BATCH, str(rows_at_once))
        try:
            self._encoded = frame._jdf.toArrowBatchRdd().toJavaRDD()
        finally:
            session.conf.set(_ROWS_PER_BATCH, before)
        self._context: Any = session.sparkContext
        self._schema = arrow_schema(frame.schema)

    def __len__(self) -> int:
        return int(self._encoded.getNumPartitions())

    def compute(self, partition: int) -> Computed:
        """Run the job of a partition."""
        jvm = self._context._jvm
        wanted = jvm.java.util.ArrayList()
        wanted.add(partition)
        served = jvm.PythonRDD.runJob(self._context._jsc.sc(), self._encoded, wanted)
        return lambda: _batches(served, self._schema)


def collect_plan(frame: DataFrame, plan: Any, schema: pa.Schema) -> pa.Table:
    """The rows of a physical plan. ``frame`` is of the query that it was made for."""
    served = jvm_of(frame).PythonRDD.collectAndServe(frame._jdf.toArrowBatchRdd(plan))
    return pa.Table.from_batches(list(_batches(served, schema)), schema)


def _batches(served: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What Spark holds ready on a socket, piece by piece."""
    from pyspark.serializers import NoOpSerializer
    from pyspark.util import _load_from_socket

    with _load_from_socket(served, NoOpSerializer()) as messages:
        for message in messages:
            yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
