"""Whether rows fit into a table, and rows made to fit: columns in its order, with its names and types."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import pyarrow as pa

from windrow.connectors.zones import labelled
from windrow.errors import UsageError
from windrow.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    VARIANT,
    Array,
    ColumnDef,
    DataType,
    Decimal,
    Map,
    Struct,
)
from windrow.model.zone import UTC

DOES_NOT_FIT = "WR913"
_ATOMIC: dict[DataType, pa.DataType] = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    VARIANT: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", UTC),
    TIMESTAMP_NTZ: pa.timestamp("us"),
}


def storable(rows: pa.Table) -> pa.Table:
    """Rows with types that table formats have: instants in UTC to the microsecond, values in the place of numbers of a dictionary."""
    wanted = pa.schema([field.with_type(storable_type(field.name, field.type)) for field in rows.schema])
    return labelled(rows) if wanted == rows.schema else labelled(rows).cast(wanted, safe=False)


def storable_type(name: str, type_: pa.DataType) -> pa.DataType:
    """
    >>> storable_type("a", pa.timestamp("ns", "Asia/Tokyo")), storable_type("a", pa.dictionary(pa.int32(), pa.string()))
    (TimestampType(timestamp[us, tz=UTC]), DataType(string))
    """
    types = pa.types
    if types.is_dictionary(type_):
        return storable_type(name, type_.value_type)
    if types.is_timestamp(type_):
        return pa.timestamp("us", None if type_.tz is None else UTC)
    if types.is_null(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return pa.string()
    if types.is_large_binary(type_) or types.is_fixed_size_binary(type_) or types.is_binary_view(type_):
        return pa.binary()
    if types.is_struct(type_):
        return pa.struct([field.with_type(storable_type(name, field.type)) for field in type_])
    if types.is_map(type_):
        return pa.map_(storable_type(name, type_.key_type), storable_type(name, type_.item_type))
    if types.is_list(type_) or types.is_large_list(type_):
        return pa.list_(pa.field("element", storable_type(name, type_.value_type), type_.value_field.nullable))
    if types.is_duration(type_) or types.is_interval(type_) or types.is_time(type_):
        raise _not_storable(name, str(type_))
    return type_


def schema_of(columns: Sequence[ColumnDef]) -> pa.Schema | None:
    """That of an output, as far as it is known before there are rows; None where a type is not."""
    if not columns or any(column.type in (UNKNOWN, NULL) for column in columns):
        return None
    return pa.schema([(column.name, _arrow_type(column.name, column.type)) for column in columns])


def _arrow_type(name: str, type_: DataType) -> pa.DataType:
    match type_:
        case Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case Array(element=element):
            return pa.list_(pa.field("element", _arrow_type(name, element)))
        case Map(key=key, value=value):
            return pa.map_(_arrow_type(name, key), _arrow_type(name, value))
        case Struct(fields=fields):
            return pa.struct([(inner, _arrow_type(name, each)) for inner, each in fields])
        case _ if type_ in _ATOMIC:
            return _ATOMIC[type_]
        case _:
            raise _not_storable(name, str(type_))


def _not_storable(name: str, type_: str) -> UsageError:
    return UsageError(DOES_NOT_FIT, f'the column "{name}" is of a type that a table cannot hold: {type_}', f"CAST({name} AS STRING)")


def check_fit(table: str, there: pa.Schema, given: pa.Schema, key: Sequence[str]) -> None:
    """The first thing in which a table does not fit rows is an error with what to do about it."""
    known = {field.name.lower(): field for field in there}
    for field in given:
        own = known.get(field.name.lower())
        if own is None:
            close = difflib.get_close_matches(field.name.lower(), known, 1)
            meant = f"did you mean {known[close[0]].name}? " if close else ""
            hint = f"{meant}add the column to the table, or leave it out of the select list; it has: {', '.join(there.names)}"
            raise UsageError(DOES_NOT_FIT, f'the table {table} has no column "{field.name}"', hint)
        if not holds(own.type, field.type):
            hint = f"CAST({field.name} AS ...) in the query to what the table holds, or write to another table"
            message = f'the column "{own.name}" of {table} is {own.type}, which cannot hold every {field.type}'
            raise UsageError(DOES_NOT_FIT, message, hint)
    written = {field.name.lower() for field in given}
    for own in there:
        if not own.nullable and own.name.lower() not in written:
            hint = f"add {own.name} to the select list"
            raise UsageError(DOES_NOT_FIT, f'the column "{own.name}" of {table} must have a value, and the output has none', hint)
    for part in key:
        if part.lower() not in written:
            raise UsageError("WR914", f'the key "{part}" is no column of the output', f"it has: {', '.join(given.names)}")


def holds(there: pa.DataType, given: pa.DataType) -> bool:
    """Whether every value of one type is a value of the other.

    >>> holds(pa.int64(), pa.int32()), holds(pa.decimal128(10, 2), pa.decimal128(12, 2)), holds(pa.float32(), pa.float64())
    (True, False, False)
    """
    types = pa.types
    there, given = storable_type("", there), storable_type("", given)
    if there == given:
        return True
    if types.is_integer(given) and types.is_integer(there):
        return bool(there.bit_width >= given.bit_width)
    if types.is_floating(there):
        is_wide = types.is_floating(given) and there.bit_width >= given.bit_width
        return bool(is_wide or (types.is_integer(given) and given.bit_width <= 32 and there.bit_width == 64))
    if types.is_decimal(there):
        if types.is_integer(given):
            return bool(there.precision - there.scale >= (19 if given.bit_width == 64 else 10))
        return bool(
            types.is_decimal(given) and there.scale >= given.scale and there.precision - there.scale >= given.precision - given.scale
        )
    if types.is_struct(there) and types.is_struct(given):
        inner = {field.name: field.type for field in there}
        return all(field.name in inner and holds(inner[field.name], field.type) for field in given)
    if types.is_map(there) and types.is_map(given):
        return holds(there.key_type, given.key_type) and holds(there.item_type, given.item_type)
    return bool(types.is_list(there) and types.is_list(given) and holds(there.value_type, given.value_type))


def fitted(rows: pa.Table, there: pa.Schema) -> pa.Table:
    """Rows in the columns of a table that they fit; NULL in those that they do not have."""
    known = {name.lower(): name for name in rows.column_names}
    wanted = pa.schema([field.with_type(storable_type(field.name, field.type)) for field in there])
    columns = [
        rows[known[field.name.lower()]].cast(field.type) if field.name.lower() in known else pa.nulls(rows.num_rows, field.type)
        for field in wanted
    ]
    return pa.table(columns, schema=wanted)
