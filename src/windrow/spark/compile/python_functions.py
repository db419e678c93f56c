"""CREATE FUNCTION at run time: Arrow arrays in, an Arrow array out, in Spark's Python workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.catalog.python_functions import load_function
from windrow.model.types import DataType
from windrow.plan.stages import PythonFunction
from windrow.spark.compile.vectorised import FAILED, vectorised
from windrow.spark.internals.arrow_types import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FAILED", "register_functions"]


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
        _ship(Path(one.folder))
        types = [_arrow_type(type_) for type_ in one.parameters]
        call = vectorised(one.name, function, types, _arrow_type(one.returns))
        registry.register(one.name, as_udf(call, str(one.returns)))


def _ship(folder: Path) -> None:
    """What a function's module imported from its own folder and those below, workers could not import: it travels with the function.

    So does what we put around it, and workers need Arrow for a function, but nothing of ours.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    for module in [sys.modules[vectorised.__module__], *_modules_below(folder.resolve())]:
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # as pyspark ships it


def packages_of(function: PythonFunction) -> tuple[str, ...]:
    """What has to be installed where a function runs: the packages that its modules name, without Python's own and those that travel.

    A module that is imported within a function is not seen here; the function fails where it is missing, and says so.
    """
    folder = Path(function.folder).resolve()
    called = load_function(function.target, folder)
    below = list(_modules_below(folder))
    # The function's own module is loaded from beside the file without being made known to Python.
    own = [getattr(called, "__globals__", {}), *(vars(module) for module in below)]
    named = {_module_of(value) for names in own for value in list(names.values())} | {called.__module__}
    here = {path.stem for path in folder.glob("*.py")} | {module.__name__.partition(".")[0] for module in below}
    tops = {name.partition(".")[0] for name in named}
    return tuple(sorted((tops - here - sys.stdlib_module_names - {"", "pyspark"}) | {"pyarrow"}))


def _module_of(value: Any) -> str:
    found = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return found if isinstance(found, str) else ""


def _modules_below(folder: Path) -> Iterator[ModuleType]:
    """Those that were imported from there. An environment that lies in the folder of a project is none of its modules."""
    installed = {Path(path).resolve() for path in (sys.prefix, sys.base_prefix)}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is None or not (path := Path(file).resolve()).is_relative_to(folder):
            continue
        if "site-packages" not in path.parts and not any(path.is_relative_to(one) and one.is_relative_to(folder) for one in installed):
            yield module


def _arrow_type(type_: DataType) -> pa.DataType:
    from pyspark.sql.types import DataType as SparkType

    return arrow_type(SparkType.fromDDL(str(type_)))
