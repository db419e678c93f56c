"""Frames as Arrow batches: on the executors, and in the driver a little at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PAYLOAD = "payload"


def map_in_arrow(frame: DataFrame, receive: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> DataFrame:
    """``DataFrame.mapInArrow`` without its demand for pandas, which it never uses. What comes back is one column of bytes."""
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql.types import BinaryType, StructType
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    function = UserDefinedFunction(receive, StructType().add(PAYLOAD, BinaryType()), evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    columns: Any = function(*(frame["`" + name.replace("`", "``") + "`"] for name in frame.columns))
    return Frame(frame._jdf.mapInArrow(columns._jc, False, None), frame.sparkSession)


def batches_of(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The rows in the order of the frame's partitions, never more than one partition in memory.

    Columns must be such as Arrow surely can hold (see ``flat_frame``).
    """
    # One value a batch of rows crosses to Python, instead of one a cell.
    for row in map_in_arrow(frame, _pack).toLocalIterator():
        with pa.ipc.open_stream(row[0]) as reader:
            yield from reader


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            buffer = io.BytesIO()
            with pa.ipc.new_stream(buffer, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_arrays([pa.array([buffer.getvalue()], pa.binary())], [PAYLOAD])
