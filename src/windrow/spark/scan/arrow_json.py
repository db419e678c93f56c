"""JSON rows decoded by Arrow, thousands at once, in Spark's Python workers, wherever that gives what ``from_json`` gives.

``from_json`` makes a reader of characters for every row and takes twice as long. A row that Arrow refuses, or might take for something
else than Spark does, is NULL here and left to ``from_json``, so that there is one meaning. (Spark's parser has two limits that Arrow has
not: a thousand levels, and a thousand digits.)
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from windrow.spark.compile.expressions import struct_type
from windrow.spark.internals.workers import lacking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Types that Arrow reads of JSON as Spark does, by their names in SQL. Other numbers are rounded in other ways, other types spelled in more.
_TYPES: Mapping[str, pa.DataType] = {
    "STRING": pa.string(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
# A share of rows with one among them that is refused is halved down to this many, which are then left to Spark.
_SMALLEST = 128
_TIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d)?$"
_NEGATIVE_ZERO = -(2**63)  # its bits
_NO_NUMBER = re.compile(rb"[:,\[\s-](?:NaN|Inf)")


def has_arrow(spark: SparkSession) -> bool:
    """Whether the Python workers have Arrow. They may be asked for it, which is done once a session."""
    return not lacking(spark, ("pyarrow",))


def decoder_of(spark: SparkSession, fields: Mapping[str, str], note: str) -> str:
    """Make a function known to a session that decodes rows of these fields, and give its name. The workers have Arrow.

    The fields are of types that Arrow reads as Spark does (``windrow.plan.physical.scans``).
    It gives a struct of the fields and ``note``, a text, which is always NULL.
    """
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.sql.pandas.functions import arrow_udf

    # Workers need Arrow for it, but nothing of ours.
    register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # as pyspark ships it
    as_udf: Any = arrow_udf
    returns = struct_type({**fields, note: "STRING"})
    name = f"windrow_json_{hashlib.sha256(returns.encode()).hexdigest()[:16]}"
    spark.udf.register(name, as_udf(_decoder(fields, note), returns))
    return name


def _decoder(fields: Mapping[str, str], note: str) -> Callable[..., pa.Array]:
    wanted = pa.schema([(name, _TYPES[type_]) for name, type_ in fields.items()])
    struct = pa.struct([*wanted, (note, pa.string())])

    def decode(texts: pa.Array) -> pa.Array:
        return decode_rows(texts, struct)

    return decode


def decode_rows(texts: pa.Array, struct: pa.StructType) -> pa.Array:
    """What each text holds, or NULL for those that are left to Spark. The last field of the struct is no part of the text."""
    looks_whole = pc.fill_null(pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}")), False)
    if pc.all(looks_whole, min_count=0).as_py():
        return _in_halves(texts, struct)
    decoded = _in_halves(texts.filter(looks_whole), struct)
    place = pc.subtract(pc.cumulative_sum(looks_whole.cast(pa.int64())), 1)
    return decoded.take(pc.if_else(looks_whole, place, pa.scalar(None, pa.int64())))


def _in_halves(texts: pa.Array, struct: pa.StructType) -> pa.Array:
    count = len(texts)
    decoded = _decoded(texts, struct) if count else None
    if decoded is not None:
        return decoded
    if count <= _SMALLEST:
        return pa.nulls(count, struct)
    return pa.concat_arrays([_in_halves(texts[: count // 2], struct), _in_halves(texts[count // 2 :], struct)])


def _decoded(texts: pa.Array, struct: pa.StructType) -> pa.Array | None:
    """All rows, or None where one of them is not certainly one object with values of these types.

    Each text begins and ends with a brace. A closing brace, a line break and an opening one can be no part of an object or of a text in
    it, so an object ends with each text, and there are as many objects as texts only where each text is one.
    """
    lines = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), "\n")[0].as_buffer()
    as_bytes = lines.to_pybytes()
    if not _is_text(as_bytes):
        return None
    read = pa.schema([pa.field(field.name, pa.string() if pa.types.is_timestamp(field.type) else field.type) for field in struct][:-1])
    try:
        table = _table(lines, as_bytes, read)
        if table is None or table.num_rows != len(texts):
            return None
        columns = [_typed(column.combine_chunks(), field.type) for column, field in zip(table.columns, struct, strict=False)]
    except pa.ArrowInvalid:
        return None
    if any(map(_is_odd, columns)):
        return None
    return pa.StructArray.from_arrays([*columns, pa.nulls(len(texts), pa.string())], fields=list(struct))


def _is_text(lines: bytes) -> bool:
    """Arrow does not look at bytes that are no text, or end it."""
    if b"\x00" in lines:
        return False
    if lines.isascii():
        return True
    try:
        lines.decode()
    except UnicodeDecodeError:
        return False
    return True


def _table(lines: pa.Buffer, as_bytes: bytes, schema: pa.Schema) -> pa.Table | None:
    """Numbers that are none (NaN, Inf) are spelled in different ways by the two. In a column that is read they are seen afterwards.

    Whether another field has one is told by its text, which takes a fifth of the time of parsing it. Most streams have no other fields.
    """
    try:
        return _read(lines, schema, others="error")
    except pa.ArrowInvalid:
        if (b"NaN" in as_bytes or b"Inf" in as_bytes) and _NO_NUMBER.search(as_bytes) is not None:
            return None
        return _read(lines, schema, others="ignore")


def _read(lines: pa.Buffer, schema: pa.Schema, others: str) -> pa.Table:
    # One block: at the border of two, half a row might be taken for a whole one.
    block = pj.ReadOptions(use_threads=False, block_size=lines.size)
    return pj.read_json(pa.BufferReader(lines), block, pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others))


def _is_odd(column: pa.Array) -> bool:
    """Numbers that are none; and -0, which Spark takes for a whole number without a sign, and -0.0 for one with it."""
    if not pa.types.is_floating(column.type):
        return False
    if not pc.all(pc.is_finite(column), min_count=0).as_py():
        return True
    return bool(pc.any(pc.equal(column.view(pa.int64()), _NEGATIVE_ZERO)).as_py())


def _typed(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Times are read as text. Those of one share either all have a zone, or none and are in UTC."""
    if column.type == type_:
        return column
    # Arrow takes times without seconds, and any zone. A look at the length costs a tenth of one at the whole text.
    is_usual = pc.and_(pc.ends_with(column, "Z"), pc.greater_equal(pc.binary_length(column), len("2026-01-02T10:11:12Z")))
    if not pc.all(is_usual, min_count=0).as_py() and not pc.all(pc.match_substring_regex(column, _TIME), min_count=0).as_py():
        raise pa.ArrowInvalid("a time that Spark may read in another way")
    try:
        return column.cast(type_)
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("us")).cast(type_)
