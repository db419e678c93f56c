"""A row that is set aside leaves a batch whole, as text beside the groups: what Spark groups by must be small and simple.

A struct would do the same, but Spark then leaves its faster hash table, and its generated code has every field of every row in it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ, TOPIC_NUMBER
from windrow.model.row_protocol import TOPIC
from windrow.model.types import ColumnDef
from windrow.plan.stages import Read
from windrow.spark.compile.expressions import quote
from windrow.spark.internals.arrow_types import arrow_type
from windrow.spark.query.runner import LazyRelation
from windrow.spark.row_columns import FATE, RAW_TEXT, ROW, ROW_WATERMARKS
from windrow.spark.scan.row_reader import spark_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

# What a row that may be late was judged by, in microseconds: the time that says which windows it belongs to, and the watermark.
JUDGED_TIME, JUDGED_WATERMARK = "_judged_time", "_judged_watermark"
_JUDGEMENT = (JUDGED_TIME, JUDGED_WATERMARK)
_SKIPPED = {FATE, SEQ, ROW, *ROW_WATERMARKS, *_JUDGEMENT}
_FEW = 256
_OPTIONS = (
    "map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS', 'timeZone', 'UTC')"
)


def diverted_row(columns: tuple[str, ...], guard: str, judged_by: Mapping[str, str] | None = None) -> str:
    """SQL of a row's own columns and where it came from, for rows where ``guard`` holds.

    ``judged_by`` has SQL of ``JUDGED_TIME`` and ``JUDGED_WATERMARK``, where the row may turn out to be late.
    """
    # To ask for the name of a file would take it along with every row, of which only these need it.
    skipped = _SKIPPED | {TOPIC} if TOPIC_NUMBER in columns else _SKIPPED
    own = [quote(name) for name in columns if name not in skipped]
    fields = ", ".join([*own, *(f"{sql} AS {name}" for name, sql in (judged_by or {}).items())])
    # Not NULL elsewhere: Spark has a faster table for groups of which no key is.
    return f"CASE WHEN {guard} THEN to_json(struct({fields}), {_OPTIONS}) ELSE '' END"


def with_judged_time(row: str, time: str) -> str:
    """SQL of a row that was packed without the time it is judged by, which is known only now."""
    return f"concat('{{\"{JUDGED_TIME}\":', coalesce(CAST({time} AS STRING), 'null'), ',', substr({row}, 2))"


def unpack_rows(table: pa.Table, given: LazyRelation, read: Read | None) -> pa.Table:
    """The rows that a table carries, as they were: ``given`` is what they came from, ``read`` their source, if it is one.

    Columns of the source that the rows do not have stand in the text of each.
    """
    is_there = pc.fill_null(pc.not_equal(table[ROW], ""), False)
    place = table.column_names.index(ROW)
    if not pc.any(is_there, min_count=0).as_py():
        # Most batches set nothing aside, and need not know what a row looks like.
        return table.set_column(place, ROW, pa.nulls(table.num_rows))
    whole = _with_judgement(_whole(given.schema))
    reader = _reader(whole)
    rows = [reader(_with_topic(json.loads(text, parse_float=Decimal), given)) for text in table[ROW].filter(is_there).to_pylist()]
    undecoded = [] if read is None else [column for column in read.columns if column.name not in given.schema.names]
    if undecoded:
        whole = _completed(whole, rows, undecoded)
    column = _spread(pa.array(rows, arrow_type(whole)), is_there)
    return table.set_column(place, ROW, column)


def _spread(rows: pa.Array, is_there: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """A row wherever one is, in order, and NULL elsewhere."""
    if len(rows) > _FEW:
        number = pc.subtract(pc.cumulative_sum(is_there.cast(pa.int64())), 1)
        return rows.take(pc.if_else(is_there, number, pa.scalar(None, pa.int64())))
    # A few among many: the stretches between them are made by themselves, which costs next to nothing.
    pieces, done = [], 0
    for number, place in enumerate(pc.indices_nonzero(is_there).to_pylist()):
        pieces += [pa.nulls(place - done, rows.type), rows.slice(number, 1)]
        done = place + 1
    return pa.chunked_array([*pieces, pa.nulls(len(is_there) - done, rows.type)], rows.type)


def _with_topic(row: dict[str, Any], given: LazyRelation) -> dict[str, Any]:
    return {**row, TOPIC: given.topics.get(row[TOPIC_NUMBER])} if TOPIC_NUMBER in row else row


def _completed(whole: StructType, rows: list[dict[str, Any]], undecoded: Sequence[ColumnDef]) -> StructType:
    """Take the other columns from the text of each row. What does not fit its type is NULL, as it is where it is decoded."""
    from pyspark.sql.types import StructType

    declared = StructType.fromDDL(", ".join(f"{quote(column.name)} {spark_type(column)}" for column in undecoded))
    assert isinstance(declared, StructType)
    others = _whole(declared)
    fields = [(field.name, _reader(field.dataType), arrow_type(field.dataType)) for field in others.fields]
    for row in rows:
        given = _object(row[RAW_TEXT])
        for name, read, kind in fields:
            try:
                row[name] = pa.scalar(read(given.get(name)), kind).as_py()
            except (ValueError, TypeError, AttributeError, ArithmeticError):
                row[name] = None
    return StructType([*others.fields, *whole.fields])


def _object(text: bytes | None) -> dict[str, Any]:
    try:
        given = json.loads(text or b"", parse_float=Decimal)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _whole(schema: StructType) -> StructType:
    """What is carried. A variant has no shape that Arrow could be told of: it stays the JSON that it is."""
    from pyspark.sql.types import StringType, StructField, StructType, VariantType

    kept = [field for field in schema.fields if field.name not in _SKIPPED]
    return StructType([StructField(f.name, StringType() if isinstance(f.dataType, VariantType) else f.dataType) for f in kept])


def _with_judgement(whole: StructType) -> StructType:
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*whole.fields, *(StructField(name, LongType()) for name in _JUDGEMENT)])


def judgement_of(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The time and the watermark that an unpacked row was judged by, where it has them."""
    return row.get(JUDGED_TIME), row.get(JUDGED_WATERMARK)


def without_judgement(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([name for name in _JUDGEMENT if name in rows.column_names])


def _reader(kind: DataType) -> Callable[[Any], Any]:
    """What makes of a value in JSON the value that Arrow takes for a type of Spark's."""
    from pyspark.sql.types import ArrayType, DecimalType, MapType, StructType

    match kind:
        case StructType():
            fields = [(field.name, _reader(field.dataType)) for field in kind.fields]
            return _unless_null(lambda value: {name: read(value.get(name)) for name, read in fields})
        case ArrayType():
            element = _reader(kind.elementType)
            return _unless_null(lambda value: [element(each) for each in value])
        case MapType():
            key, entry = _reader(kind.keyType), _reader(kind.valueType)
            return _unless_null(lambda value: [(key(name), entry(each)) for name, each in value.items()])
        case DecimalType():
            unit = Decimal(1).scaleb(-kind.scale)
            return _unless_null(lambda value: Decimal(value).quantize(unit))
        case _:
            return _unless_null(_READERS.get(kind.typeName(), _text))


def _unless_null(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _instant(text: str) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if _is_of_our_time(text) else None


def _local_time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if _is_of_our_time(text) else None


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if _is_of_our_time(text) else None


def _is_of_our_time(text: str) -> bool:
    """Spark has years that Python does not: beyond 9999, as of milliseconds that were read as seconds, and before 1. The text of the row
    still says what stood there.

    >>> _instant("+57983-03-09T20:00:00.000000Z") is None, _day("2026-01-05")
    (True, datetime.date(2026, 1, 5))
    """
    return text[:1] not in ("+", "-") and text[:4] != "0000"


def _truth(value: Any) -> bool:
    """A key of a map is text, whatever its type."""
    return value if isinstance(value, bool) else value == "true"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


_READERS: dict[str, Callable[[Any], Any]] = {
    "timestamp": _instant,
    "timestamp_ntz": _local_time,
    "date": _day,
    "binary": base64.b64decode,
    "double": float,
    "float": float,
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "boolean": _truth,
}
