"""The values of a CSV record, which are all text, as the types that their columns are declared with."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from windrow.connectors.encoding import quoted
from windrow.model.types import BINARY, STRING, VARIANT, Array, ColumnDef, DataType, Map, Struct

if TYPE_CHECKING:
    from pyspark.sql import Column


def from_text(column: ColumnDef) -> Column:
    """A CSV value as its declared type, NULL where it does not fit."""
    from pyspark.sql import functions as F

    text, type_ = quoted(column.name), column.type
    if type_ == STRING:
        return text
    if type_ == BINARY:
        return F.try_to_binary(text, F.lit("base64"))
    if type_ == VARIANT:
        return F.try_parse_json(text)
    if _is_nested(type_):
        return F.from_json(text, str(type_))
    return text.try_cast(str(type_))


def _is_nested(type_: DataType) -> bool:
    return isinstance(type_, Array | Map | Struct)


def is_wrong(column: ColumnDef, value: Column) -> Column:
    """Whether a value makes its row a bad one: a NULL that is not allowed, or a text that does not fit."""
    return value.isNull() & quoted(column.name).isNotNull() if column.nullable else value.isNull()


def any_of(conditions: list[Column]) -> Column:
    return reduce(lambda a, b: a | b, conditions)
