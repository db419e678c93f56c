"""Which type of PostgreSQL stands for which of ours, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VARIANT,
    Array,
    Atomic,
    DataType,
    Decimal,
    Map,
    Struct,
)

if TYPE_CHECKING:
    from pyspark.sql import types as T

JSON_NAMES = ("json", "jsonb")
_TEXT_NAMES = ("text", "varchar", "bpchar", "name", "citext")
_TEXT_LIKE = (*_TEXT_NAMES, *JSON_NAMES, "uuid", "inet", "cidr", "macaddr", "xml")

_CREATED: dict[DataType, str] = {
    BOOLEAN: "boolean",
    TINYINT: "smallint",
    SMALLINT: "smallint",
    INT: "integer",
    BIGINT: "bigint",
    FLOAT: "real",
    DOUBLE: "double precision",
    STRING: "text",
    BINARY: "bytea",
    DATE: "date",
    TIMESTAMP: "timestamptz",
    TIMESTAMP_NTZ: "timestamp",
    VARIANT: "jsonb",
    NULL: "text",
}

# The names by which the catalogue of a database calls types that hold every value of ours, or refuse it aloud.
_HOLDS: dict[DataType, tuple[str, ...]] = {
    BOOLEAN: ("bool",),
    TINYINT: ("int2", "int4", "int8", "float4", "float8"),
    SMALLINT: ("int2", "int4", "int8", "float4", "float8"),
    INT: ("int2", "int4", "int8", "float8"),
    BIGINT: ("int2", "int4", "int8"),
    FLOAT: ("float4", "float8"),
    DOUBLE: ("float8",),
    STRING: _TEXT_LIKE,
    BINARY: ("bytea",),
    DATE: ("date", "timestamp", "timestamptz"),
    TIMESTAMP: ("timestamptz", "timestamp"),
    TIMESTAMP_NTZ: ("timestamp", "timestamptz"),
    VARIANT: (*JSON_NAMES, *_TEXT_NAMES),
}


@dataclass(frozen=True)
class ColumnType:
    """A column's type as the database knows it. ``name`` is its short name, that of an array's element with ``is_array``."""

    name: str
    shown: str
    is_array: bool = False
    is_enum: bool = False
    # Of numeric: digits after the point, None where there is no limit.
    scale: int | None = None

    @property
    def is_json(self) -> bool:
        return self.name in JSON_NAMES and not self.is_array


def created_type(type_: DataType) -> str:
    """What a column of this type becomes in a table that we create.

    >>> created_type(Decimal(18, 2)), created_type(Array(BIGINT)), created_type(Map(STRING, INT))
    ('numeric(18,2)', 'bigint[]', 'jsonb')
    """
    match type_:
        case Decimal(precision=precision, scale=scale):
            return f"numeric({precision},{scale})"
        case Array(element=element) if not is_nested(element):
            return f"{created_type(element)}[]"
        case Array() | Map() | Struct():
            return "jsonb"
        case _:
            return _CREATED.get(type_, "text")


def is_nested(type_: DataType) -> bool:
    return isinstance(type_, Array | Map | Struct) or type_ == VARIANT


def holds(column: ColumnType, type_: DataType) -> bool:
    """Whether every value arrives unchanged, or is refused by the database with an error; never rounded or cut.

    >>> holds(ColumnType("numeric", "numeric(10,2)", scale=2), Decimal(18, 4))
    False
    """
    if type_ in (UNKNOWN, NULL):
        return True
    if type_ == INTERVAL:
        return False
    if isinstance(type_, Array):
        if column.is_array:
            return not is_nested(type_.element) and holds(_element(column), type_.element)
        return column.is_json or column.name in _TEXT_NAMES
    if column.is_array:
        return False
    if isinstance(type_, Map | Struct):
        return column.is_json or column.name in _TEXT_NAMES
    if column.name == "numeric":
        return _numeric_holds(column, type_)
    if column.is_enum:
        return type_ == STRING
    return column.name in (*_HOLDS.get(type_, ()), *(_TEXT_NAMES if type_ != BINARY else ()))


def _element(column: ColumnType) -> ColumnType:
    return ColumnType(column.name, column.shown.removesuffix("[]"), False, column.is_enum, column.scale)


def _numeric_holds(column: ColumnType, type_: DataType) -> bool:
    if isinstance(type_, Decimal):
        return column.scale is None or type_.scale <= column.scale
    return type_ in INTEGERS or (type_ in (FLOAT, DOUBLE) and column.scale is None)


def from_spark(type_: T.DataType) -> DataType:
    """A type as Spark found it when it analysed the query."""
    from pyspark.sql import types as T

    if isinstance(type_, T.DecimalType):
        return Decimal(type_.precision, type_.scale)
    if isinstance(type_, T.ArrayType):
        return Array(from_spark(type_.elementType))
    if isinstance(type_, T.MapType):
        return Map(from_spark(type_.keyType), from_spark(type_.valueType))
    if isinstance(type_, T.StructType):
        return Struct(tuple((field.name, from_spark(field.dataType)) for field in type_.fields))
    if isinstance(type_, T.DayTimeIntervalType | T.YearMonthIntervalType | T.CalendarIntervalType):
        return INTERVAL
    return Atomic(type_.simpleString().upper())
