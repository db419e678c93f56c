"""How a value is spelled as text: once for Arrow tables in the driver, once for Spark, with the same values.

Timestamps are ISO 8601 in the time zone of the job, with six digits and its offset, which is ``Z`` in UTC (and none where the type has
no zone), decimals are exact numbers, binary is base64, maps are objects, NULL is written out. What JSON has no number for is the string
``NaN``, ``Infinity`` or ``-Infinity``.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.zones import zone_of
from windrow.model.zone import UTC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Spell = Callable[[Any], str]

# For Spark's JSON and CSV writers; the literal Z is right because the zone is fixed beside it.
SPARK_TIMES = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
}
SPARK_JSON = {**SPARK_TIMES, "ignoreNullFields": "false"}
_WITH_OFFSET = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSxxx"
ROWS_AT_ONCE = 20_000


def spark_times(frame: DataFrame) -> dict[str, str]:
    """How Spark is to write the times of a frame."""
    zone = zone_of(frame.sparkSession)
    return SPARK_TIMES if zone == UTC else {**SPARK_TIMES, "timeZone": zone, "timestampFormat": _WITH_OFFSET}


def spark_json(frame: DataFrame) -> dict[str, str]:
    return {**SPARK_JSON, **spark_times(frame)}


def json_lines(table: pa.Table, columns: tuple[str, ...]) -> Iterator[str]:
    """One JSON object a row, without the line break.

    >>> list(json_lines(pa.table({"a": [1, None], "b": ["x", "y"]}), ("b", "a")))
    ['{"b":"x","a":1}', '{"b":"y","a":null}']
    """
    table = in_micros(table.select(list(columns)))
    spells = [(json.dumps(field.name, ensure_ascii=False), json_spelling(field.type)) for field in table.schema]
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        cells = [
            [f"{name}:null" if value is None else f"{name}:{spell(value)}" for value in column.to_pylist()]
            for (name, spell), column in zip(spells, batch.columns, strict=True)
        ]
        for row in zip(*cells, strict=True):
            yield "{" + ",".join(row) + "}"


def in_micros(table: pa.Table) -> pa.Table:
    """Timestamps at Spark's resolution, so that both ways of writing agree and no value needs more than a datetime."""
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit != "us":
            column = table.column(index).cast(pa.timestamp("us", field.type.tz), safe=False)
            table = table.set_column(index, pa.field(field.name, column.type), column)
    return table


def json_spelling(type_: pa.DataType) -> Spell:
    """How a non-null value of a type is written in JSON."""
    types = pa.types
    if types.is_dictionary(type_):
        return json_spelling(type_.value_type)
    if types.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if types.is_integer(type_):
        return str
    if types.is_floating(type_):
        return _spell_single if types.is_float32(type_) else _spell_double
    if types.is_decimal(type_):
        return lambda value: format(value, "f")
    if types.is_struct(type_):
        return _spell_struct(type_)
    if types.is_map(type_):
        return _spell_map(type_)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return _spell_list(type_)
    plain = plain_spelling(type_)
    return lambda value: json.dumps(plain(value), ensure_ascii=False)


def plain_spelling(type_: pa.DataType) -> Spell:
    """A non-null text, time or binary value without quotes around it."""
    types = pa.types
    if types.is_timestamp(type_):
        return _spell_instant if type_.tz == UTC else lambda value: value.isoformat(timespec="microseconds")
    if types.is_date(type_) or types.is_time(type_):
        return lambda value: value.isoformat()
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return lambda value: base64.b64encode(value).decode()
    return str


def is_nested(type_: pa.DataType) -> bool:
    return bool(pa.types.is_nested(type_))


def _spell_instant(value: datetime) -> str:
    return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _spell_double(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def _spell_single(value: float) -> str:
    """The shortest decimal that is this 32-bit number, as Java writes it: 0.1, not 0.10000000149011612."""
    if not math.isfinite(value):
        return _spell_double(value)
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
            return repr(float(text))
    return repr(value)


def _spell_struct(type_: pa.DataType) -> Spell:
    fields = [(field.name, json.dumps(field.name, ensure_ascii=False), _or_null(json_spelling(field.type))) for field in type_]
    return lambda value: "{" + ",".join(f"{quoted}:{spell(value[name])}" for name, quoted, spell in fields) + "}"


def _spell_map(type_: pa.DataType) -> Spell:
    key, item = plain_spelling(type_.key_type), _or_null(json_spelling(type_.item_type))

    def spell(value: Any) -> str:
        pairs = value.items() if isinstance(value, dict) else value
        return "{" + ",".join(f"{json.dumps(key(k), ensure_ascii=False)}:{item(v)}" for k, v in pairs) + "}"

    return spell


def _spell_list(type_: pa.DataType) -> Spell:
    item = _or_null(json_spelling(type_.value_type))
    return lambda value: "[" + ",".join(item(element) for element in value) + "]"


def _or_null(spell: Spell) -> Spell:
    return lambda value: "null" if value is None else spell(value)


def json_frame(frame: DataFrame, columns: tuple[str, ...]) -> DataFrame:
    """The same lines as ``json_lines``, made on the executors."""
    from pyspark.sql import functions as F

    return frame.select(F.to_json(F.struct(*(quoted(name) for name in columns)), spark_json(frame)).alias("value"))


def flat_frame(frame: DataFrame, columns: tuple[str, ...], *, binary_as_text: bool = False) -> DataFrame:
    """The columns with nested values as JSON text: what a CSV file can hold, and what Arrow surely can.

    PySpark cannot collect a NULL struct whose fields are NOT NULL ("nulls in input cannot be viewed as non-nullable").
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    spelling = spark_json(frame)

    def cell(name: str) -> Column:
        type_ = frame.schema[name].dataType
        if isinstance(type_, T.ArrayType | T.MapType | T.StructType | T.VariantType):
            return F.to_json(quoted(name), spelling).alias(name)
        if binary_as_text and isinstance(type_, T.BinaryType):
            return F.base64(quoted(name)).alias(name)
        return quoted(name)

    return frame.select(*(cell(name) for name in columns))


def quoted(name: str) -> Column:
    """A column by its exact name, dots and all."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")
