"""The contract of functions finds what it is there to find."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from windrow.catalog.python_functions import ScalarFunction
from windrow.testing.contracts import FunctionContract


def running(values: pa.Array) -> pa.Array:
    """Depends on the rows before."""
    return pc.cumulative_sum(values)


def present(values: pa.Array) -> pa.Array:
    """Leaves rows out."""
    return values.drop_null()


class _Function(FunctionContract):
    name = "made"
    examples = (((1.0,), 1.0), ((2.0,), 2.0), ((None,), None))
    target = running

    def function(self) -> ScalarFunction:
        return ScalarFunction(f"{__name__}:{type(self).target.__name__}", (("x", "DOUBLE"),), "DOUBLE", "of no use")


class _Present(_Function):
    target = present


@pytest.mark.parametrize("contract", [_Function(), _Present()], ids=["depends on others", "leaves rows out"])
def test_a_function_that_is_no_function_of_its_row_is_found(contract: FunctionContract, spark: SparkSession) -> None:
    with pytest.raises(AssertionError):
        contract.test_a_row_does_not_depend_on_those_beside_it(spark)


def half(values: pa.Array) -> pa.Array:
    return pc.divide(values, 2.0)


class TestHalf(_Function):
    examples = (((1.0,), 0.5), ((2.0,), 1.0), ((None,), None))
    target = half
