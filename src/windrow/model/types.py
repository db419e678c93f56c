"""Data types as the dialect names them; their spelling is Spark's DDL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Atomic:
    """A type without parameters. ``name`` is Spark's upper-case DDL word."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal:
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    element: DataType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class Map:
    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"MAP<{self.key},{self.value}>"


@dataclass(frozen=True)
class Struct:
    fields: tuple[tuple[str, DataType], ...]

    def __str__(self) -> str:
        return "STRUCT<" + ", ".join(f"`{name}`: {type_}" for name, type_ in self.fields) + ">"


DataType = Atomic | Decimal | Array | Map | Struct

BOOLEAN = Atomic("BOOLEAN")
TINYINT = Atomic("TINYINT")
SMALLINT = Atomic("SMALLINT")
INT = Atomic("INT")
BIGINT = Atomic("BIGINT")
FLOAT = Atomic("FLOAT")
DOUBLE = Atomic("DOUBLE")
STRING = Atomic("STRING")
BINARY = Atomic("BINARY")
DATE = Atomic("DATE")
TIMESTAMP = Atomic("TIMESTAMP")
TIMESTAMP_NTZ = Atomic("TIMESTAMP_NTZ")
INTERVAL = Atomic("INTERVAL")
VARIANT = Atomic("VARIANT")
NULL = Atomic("VOID")
# Not known before Spark analyses the expression. Compatible with everything: a check never complains about it.
UNKNOWN = Atomic("UNKNOWN")

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
FRACTIONS = (FLOAT, DOUBLE)


def is_numeric(type_: DataType) -> bool:
    return type_ in INTEGERS or type_ in FRACTIONS or isinstance(type_, Decimal)


@dataclass(frozen=True)
class ColumnDef:
    """A named, typed column of a stream or table."""

    name: str
    type: DataType
    nullable: bool = True
