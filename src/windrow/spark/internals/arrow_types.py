"""Arrow's types for Spark's, as PySpark itself maps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType


def arrow_type(type_: DataType) -> pa.DataType:
    from pyspark.sql.pandas.types import to_arrow_type

    return to_arrow_type(type_, timezone="UTC")


def declared_arrow_type(declared: str) -> pa.DataType:
    """Of a type as SQL writes it."""
    from pyspark.sql.types import DataType

    return arrow_type(DataType.fromDDL(declared))


def arrow_schema(schema: StructType) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")
