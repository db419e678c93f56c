"""The rows of a frame in the driver, a few at a time: memory for some partitions, not for all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.runtime import Output

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
# One driver takes in what about so many cores can compute; more would only fill its memory.
_MOST_AT_ONCE = 4


def arrow_batches(frame: DataFrame, rows_at_once: int = 2_000) -> Iterator[pa.RecordBatch]:
    """Every partition once, in order; the next ones are computed meanwhile.

    PySpark can collect Arrow only whole, and iterate only over single rows and partitions; this is the former's encoding with the
    latter's pace. A partition is a job of its own, and several run at a time. Small batches matter: with 10,000 rows of a kilobyte it
    runs at less than half the speed.
    """
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.util import inheritable_thread_target

    session = frame.sparkSession
    before = session.conf.get(_ROWS_PER_BATCH) or "10000"
    session.conf.set(_ROWS_PER_BATCH, str(rows_at_once))
    try:
        encoded = frame._jdf.toArrowBatchRdd().toJavaRDD()
    finally:
        session.conf.set(_ROWS_PER_BATCH, before)
    context = session.sparkContext
    jvm: Any = context._jvm
    schema = to_arrow_schema(frame.schema, timezone="UTC")

    def compute(partition: int) -> Any:
        wanted = jvm.java.util.ArrayList()
        wanted.add(partition)
        return jvm.PythonRDD.runJob(context._jsc.sc(), encoded, wanted)

    waiting = iter(range(encoded.getNumPartitions()))
    at_once = min(_MOST_AT_ONCE, context.defaultParallelism)
    pool = ThreadPoolExecutor(at_once, "windrow-rows")
    # Threads of their own belong to the streaming query all the same: what ends it ends their jobs.
    run = inheritable_thread_target(session)(compute)
    try:
        running: deque[Future[Any]] = deque(pool.submit(run, number) for number in islice(waiting, at_once))
        while running:
            served = running.popleft().result()
            running.extend(pool.submit(run, number) for number in islice(waiting, 1))
            for message in messages_of(served):
                yield pa.ipc.read_record_batch(pa.py_buffer(message), schema)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def messages_of(served: Any) -> Iterator[bytes]:
    """What Spark holds ready on a socket, piece by piece."""
    from pyspark.serializers import NoOpSerializer
    from pyspark.util import _load_from_socket

    with _load_from_socket(served, NoOpSerializer()) as messages:
        yield from messages


def output_batches(output: Output, columns: Mapping[str, Column], rows_at_once: int) -> Iterator[pa.RecordBatch]:
    """The rows of an output's frame, with these columns; each is counted on its way where nobody has counted it before."""
    from pyspark.sql import functions as F

    frame, books = output.frame, output.books
    assert frame is not None
    if books is None:
        yield from arrow_batches(frame.select(*(column.alias(name) for name, column in columns.items())), rows_at_once)
        return
    # Nothing is computed of a row that is only counted.
    wanted = [F.when(F.col(books.passed), column).alias(name) for name, column in columns.items()]
    books.begin()
    for batch in arrow_batches(frame.select(*wanted, *books.columns), rows_at_once):
        yield books.take(batch)
    books.close()
