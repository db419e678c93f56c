"""What every function does."""

from __future__ import annotations

import random
from abc import ABC
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from windrow.catalog.python_functions import ScalarFunction, find_fault, load_function
from windrow.plan.stages import PythonFunction
from windrow.plugins import FUNCTIONS, load_plugin
from windrow.spark.compile.python_functions import register_functions
from windrow.spark.internals.arrow_types import arrow_type
from windrow.testing.contracts.aggregates import assert_close

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FunctionContract(ABC):
    """A function gives one value for each row, and the same whatever rows come with it and however they are cut into arrays.

    ``name`` is that of the entry point; ``examples`` are arguments with what the function makes of them.
    """

    name: ClassVar[str]
    examples: ClassVar[Sequence[tuple[tuple[Any, ...], Any]]]
    tolerance: ClassVar[float] = 1e-9

    def function(self) -> ScalarFunction:
        found = load_plugin(FUNCTIONS, self.name, ScalarFunction)
        assert found is not None, f"no installed package brings a function {self.name}"
        return found

    def test_it_is_documented_and_can_be_called(self) -> None:
        function = self.function()
        assert function.doc
        assert find_fault(function.as_statement(self.name), Path()) is None

    def test_a_row_does_not_depend_on_those_beside_it(self, spark: SparkSession) -> None:
        together = self._called(spark, self.examples)
        for position, (arguments, expected) in enumerate(self.examples):
            assert_close(together[position], expected, self.tolerance)
            # A part of a larger array, as a batch of Spark's may be.
            assert_close(self._called(spark, [self.examples[0], (arguments, expected)], start=1)[0], expected, self.tolerance)

    def test_no_rows_are_fine(self, spark: SparkSession) -> None:
        assert self._called(spark, ()) == []

    def test_executors_compute_the_same(self, spark: SparkSession) -> None:
        statement = self.function().as_statement(self.name)
        types = tuple(parameter.type for parameter in statement.parameters)
        register_functions(spark, (PythonFunction(self.name, types, statement.returns, statement.target, "."),))
        rows = [(number, *arguments) for number, (arguments, _) in enumerate(self.examples)]
        random.Random(1).shuffle(rows)
        names = [f"a{position}" for position in range(len(types))]
        schema = ", ".join(("n INT", *(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))))
        frame = spark.createDataFrame(rows, schema).repartition(2).selectExpr("n", f"{self.name}({', '.join(names)}) AS r")
        found = {row["n"]: row["r"] for row in frame.collect()}
        for number, (_, expected) in enumerate(self.examples):
            assert_close(found[number], expected, self.tolerance)

    def _called(self, spark: SparkSession, examples: Sequence[tuple[tuple[Any, ...], Any]], start: int = 0) -> list[Any]:
        """What the function makes of these rows as one array each, from ``start`` on; of the declared type."""
        statement = self.function().as_statement(self.name)
        types = ", ".join(f"`{parameter.name}` {parameter.type}" for parameter in statement.parameters)
        kinds = [arrow_type(field.dataType) for field in spark.createDataFrame([], types).schema.fields]
        columns = [pa.array([arguments[place] for arguments, _ in examples], kind).slice(start) for place, kind in enumerate(kinds)]
        made = load_function(statement.target, Path())(*columns)
        made = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
        assert len(made) == len(examples) - start, "one value for each row"
        [returned] = spark.createDataFrame([], f"r {statement.returns}").schema.fields
        values: list[Any] = made.cast(arrow_type(returned.dataType)).to_pylist()
        return values
