"""CREATE FUNCTION at run time: Arrow arrays in, an Arrow array out, in Spark's Python workers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.catalog.python_functions import load_function
from windrow.errors import JobError
from windrow.model.types import DataType
from windrow.plan.stages import PythonFunction
from windrow.spark.internals.arrow_types import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "WR840"


def register_functions(spark: SparkSession, functions: tuple[PythonFunction, ...]) -> None:
    """Make functions known to a session, under the names that queries call them by."""
    if not functions:
        return
    from pyspark.sql.pandas.functions import arrow_udf

    registry = spark.udf
    # Which kind of function it is, pyspark reads off the annotations of the call.
    as_udf: Any = arrow_udf
    for one in functions:
        function = load_function(one.target, Path(one.folder))
        _ship_neighbours(Path(one.folder))
        types = [_arrow_type(type_) for type_ in one.parameters]
        call = _vectorised(one.name, function, types, _arrow_type(one.returns))
        registry.register(one.name, as_udf(call, str(one.returns)))


def _ship_neighbours(folder: Path) -> None:
    """What a function's module imported from its own folder, workers could not import: it travels with the function."""
    from pyspark.cloudpickle import register_pickle_by_value

    beside = folder.resolve()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve().parent == beside:
            register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # as pyspark ships it


def _arrow_type(type_: DataType) -> pa.DataType:
    from pyspark.sql.types import DataType as SparkType

    return arrow_type(SparkType.fromDDL(str(type_)))


def _vectorised(name: str, function: Callable[..., Any], types: list[pa.DataType], returns: pa.DataType) -> Callable[..., pa.Array]:
    """The function with its arguments and its result in the declared types."""

    def call(*args: pa.Array) -> pa.Array:
        try:
            given = [arg.cast(type_, safe=False) for arg, type_ in zip(args, types, strict=True)]
            return _as_array(function(*given), returns, len(args[0]))
        except Exception as error:
            first = next(iter(str(error).splitlines()), "")
            hint = "it gets a pyarrow.Array for each parameter and returns one of the same length: see pyarrow.compute"
            raise JobError(FAILED, f"the function {name} failed: {type(error).__name__}: {first}", hint) from error

    return call


def _as_array(result: Any, returns: pa.DataType, length: int) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        result = pa.array(result, returns)
    if len(result) != length:
        raise ValueError(f"it gave {len(result)} values for {length} rows")
    return result.cast(returns, safe=False)
