"""Data types as they are written in column lists and casts."""

from __future__ import annotations

from windrow.model import types
from windrow.model.types import Array, Atomic, DataType, Decimal, Map, Struct
from windrow.sql import codes
from windrow.sql.cursor import Cursor
from windrow.sql.dialect import Kind
from windrow.sql.words import nearest

_ATOMIC: dict[str, Atomic] = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), types.BOOLEAN),
    **dict.fromkeys(("TINYINT", "BYTE"), types.TINYINT),
    **dict.fromkeys(("SMALLINT", "SHORT", "INT2"), types.SMALLINT),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), types.INT),
    **dict.fromkeys(("BIGINT", "LONG", "INT8", "INT64"), types.BIGINT),
    **dict.fromkeys(("FLOAT", "REAL", "FLOAT4"), types.FLOAT),
    **dict.fromkeys(("DOUBLE", "FLOAT8", "FLOAT64"), types.DOUBLE),
    **dict.fromkeys(("STRING", "TEXT", "VARCHAR", "CHAR", "NVARCHAR", "JSON", "JSONB"), types.STRING),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES", "BYTEA"), types.BINARY),
    "DATE": types.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMPTZ"), types.TIMESTAMP),
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
    "INTERVAL": types.INTERVAL,
    "VARIANT": types.VARIANT,
    "VOID": types.NULL,
}
_DECIMAL = ("DECIMAL", "NUMERIC", "DEC")
# A length or precision after these is read and means nothing: Spark's strings and timestamps have only one size.
_SIZED = ("STRING", "NVARCHAR", "TIMESTAMPTZ", "VARCHAR", "CHAR", "BINARY", "VARBINARY", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_NAMES = (*_ATOMIC, *_DECIMAL, "ARRAY", "MAP", "STRUCT", "ROW")
# Types of other systems, and the one that holds their values here.
_HOLDS: dict[str, str] = {
    **dict.fromkeys(("UUID", "XML", "ENUM", "TIME", "GEOGRAPHY", "CLOB", "NAME", "CITEXT", "INET"), "STRING"),
    **dict.fromkeys(("DATETIME", "DATETIME2", "TIMESTAMP_TZ"), "TIMESTAMP"),
    **dict.fromkeys(("MONEY", "NUMBER", "BIGNUMERIC"), "DECIMAL(18, 2)"),
    **dict.fromkeys(("SERIAL", "BIGSERIAL", "UINT32", "INT256", "UNSIGNED"), "BIGINT"),
    **dict.fromkeys(("UINT64",), "DECIMAL(20, 0)"),
    **dict.fromkeys(("BLOB",), "BINARY"),
    **dict.fromkeys(("MULTISET", "LIST", "RECORD"), "ARRAY<STRING>"),
}
# One name for each type.
_SHOWN = (*{type_: name for name, type_ in reversed(_ATOMIC.items())}.values(), "DECIMAL", "ARRAY", "MAP", "STRUCT")
_MAX_PRECISION = 38


def read_type(cursor: Cursor) -> DataType:
    """A data type, with what its angle brackets or parentheses hold, and the brackets of PostgreSQL's arrays."""
    found = _read_plain(cursor)
    while cursor.take("[", "]"):
        found = Array(found)
    return found


def _read_plain(cursor: Cursor) -> DataType:
    token = cursor.peek()
    if token.kind is not Kind.WORD or cursor.is_reserved():
        raise cursor.expected("a data type")
    if cursor.take("CHARACTER", "VARYING") or cursor.take("CHARACTER"):
        if cursor.at("("):
            cursor.in_parentheses(_read_size)
        return types.STRING
    if token.key not in _NAMES:
        holds, close = _HOLDS.get(token.key), nearest(token.text, _NAMES)
        hint = f"write {holds}" if holds else f"did you mean {close}?" if close else f"known types: {', '.join(_SHOWN)}"
        raise cursor.fault(codes.UNKNOWN_TYPE, f"unknown data type {token.shown}", hint=hint)
    cursor.advance()
    with cursor.nested():
        match token.key:
            case "ARRAY" | "MAP" | "STRUCT" | "ROW":
                return _read_nested(cursor, token.key)
            case "DECIMAL" | "NUMERIC" | "DEC":
                return _read_decimal(cursor)
            case _:
                return _read_atomic(cursor, token.key)


def _read_atomic(cursor: Cursor, name: str) -> DataType:
    if name == "DOUBLE":
        cursor.take("PRECISION")
    if name in _SIZED and cursor.at("("):
        cursor.in_parentheses(_read_size)
    if name == "TIMESTAMP" and cursor.take("WITHOUT", "TIME", "ZONE"):
        return types.TIMESTAMP_NTZ
    if name == "TIMESTAMP" and not cursor.take("WITH", "TIME", "ZONE"):
        cursor.take("WITH", "LOCAL", "TIME", "ZONE")
    return _ATOMIC[name]


def _read_decimal(cursor: Cursor) -> Decimal:
    if not cursor.take("("):
        return Decimal()
    start = cursor.peek()
    precision = _read_size(cursor)
    scale = _read_size(cursor) if cursor.take(",") else 0
    if not 1 <= precision <= _MAX_PRECISION or scale > precision:
        message = f"a DECIMAL has 1 to {_MAX_PRECISION} digits, and no more of them after the point"
        raise cursor.fault(codes.UNKNOWN_TYPE, message, cursor.since(start), "write it like DECIMAL(18, 2)")
    cursor.expect(")")
    return Decimal(precision, scale)


def _read_size(cursor: Cursor) -> int:
    if not cursor.peek().text.isdecimal() or cursor.peek().kind is not Kind.NUMBER:
        raise cursor.expected("a whole number")
    return int(cursor.advance().text)


def _read_nested(cursor: Cursor, name: str) -> DataType:
    # Flink takes parentheses for ROW, too.
    closing = ")" if cursor.take("(") else ">"
    if closing == ">":
        cursor.expect("<")
    found: DataType
    if name == "ARRAY":
        found = Array(read_type(cursor))
    elif name == "MAP":
        key = read_type(cursor)
        cursor.expect(",")
        found = Map(key, read_type(cursor))
    else:
        found = Struct(cursor.between_commas(_read_field))
    cursor.expect(closing)
    return found


def _read_field(cursor: Cursor) -> tuple[str, DataType]:
    name = cursor.name("the name of a field")
    cursor.take(":")
    return name, read_type(cursor)
