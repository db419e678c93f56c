"""The rows of a frame in the driver, a few at a time: memory for some partitions, not for all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import Output
from windrow.spark.internals.arrow_collect import Computed, EncodedPartitions
from windrow.spark.internals.fast_paths import ARROW_COLLECT, fast_paths_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# One driver takes in what about so many cores can compute; more would only fill its memory.
_MOST_AT_ONCE = 4


def arrow_batches(frame: DataFrame, rows_at_once: int = 2_000) -> Iterator[pa.RecordBatch]:
    """Every partition once, in order; the next ones are computed meanwhile.

    PySpark can collect Arrow only whole, and iterate only over single rows and partitions; this is the former's encoding with the
    latter's pace. A partition is a job of its own, and several run at a time. Small batches matter: with 10,000 rows of a kilobyte it
    runs at less than half the speed.
    """

    def begun() -> Iterator[pa.RecordBatch]:
        batches = _by_partition(frame, rows_at_once)
        first = next(batches, None)
        return chain(() if first is None else (first,), batches)

    # Once rows were handed on, they cannot be had in another way: what does not fit shows before that.
    yield from fast_paths_of(frame.sparkSession).attempt(ARROW_COLLECT, begun, lambda: iter(frame.toArrow().to_batches(rows_at_once)))


def _by_partition(frame: DataFrame, rows_at_once: int) -> Iterator[pa.RecordBatch]:
    from pyspark.util import inheritable_thread_target

    session = frame.sparkSession
    partitions = EncodedPartitions(frame, rows_at_once)
    waiting = iter(range(len(partitions)))
    at_once = min(_MOST_AT_ONCE, session.sparkContext.defaultParallelism)
    pool = ThreadPoolExecutor(at_once, "windrow-rows")
    # Threads of their own belong to the streaming query all the same: what ends it ends their jobs.
    run = inheritable_thread_target(session)(partitions.compute)
    try:
        running: deque[Future[Computed]] = deque(pool.submit(run, number) for number in islice(waiting, at_once))
        while running:
            computed = running.popleft().result()
            running.extend(pool.submit(run, number) for number in islice(waiting, 1))
            yield from computed()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def output_batches(output: Output, columns: Mapping[str, Column], rows_at_once: int) -> Iterator[pa.RecordBatch]:
    """The rows of an output's frame, with these columns; each is counted on its way where nobody has counted it before."""
    from pyspark.sql import functions as F

    frame, counter = output.frame, output.row_counter
    assert frame is not None
    if counter is None:
        yield from arrow_batches(frame.select(*(column.alias(name) for name, column in columns.items())), rows_at_once)
        return
    # Nothing is computed of a row that is only counted.
    wanted = [F.when(F.col(counter.passed), column).alias(name) for name, column in columns.items()]
    counter.begin()
    for batch in arrow_batches(frame.select(*wanted, *counter.columns), rows_at_once):
        yield counter.take(batch)
    counter.close()
