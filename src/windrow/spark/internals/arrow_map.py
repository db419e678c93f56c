"""``DataFrame.mapInArrow`` without its demand for pandas, which it never uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.spark.internals.jvm import MisfitError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Receive = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_in_arrow(frame: DataFrame, receive: Receive, schema: StructType) -> DataFrame:
    """Where Spark's own parts do not fit, the public method, which needs pandas."""
    try:
        return _without_pandas(frame, receive, schema)
    except (MisfitError, AttributeError, ImportError, TypeError, ValueError):
        return frame.mapInArrow(receive, schema)


def _without_pandas(frame: DataFrame, receive: Receive, schema: StructType) -> DataFrame:
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    function = UserDefinedFunction(receive, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    columns: Any = function(*(frame[f"`{name.replace('`', '``')}`"] for name in frame.columns))
    try:
        return Frame(frame._jdf.mapInArrow(columns._jc, False, None), frame.sparkSession)
    except Exception as error:
        raise MisfitError(str(error)) from error
