"""A source's raw frame becomes rows: decoded, with system columns, event time and fate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.runtime import BAD, ORIGINAL, PROVENANCE, RAW, SEQ, SourceStream
from windrow.model.fate import Fate
from windrow.model.types import NULL, UNKNOWN, ColumnDef
from windrow.plan.stages import Read
from windrow.spark.event_time import event_time_sql
from windrow.spark.expressions import of_batch, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FATE = "_fate"
RAW_TEXT = "_raw_text"  # what was read, where it could not be decoded
CASE_TIME = "_ts"  # event time of a memory source's row, epoch milliseconds
_DECODED, _CORRUPT = "_decoded", "_corrupt"


def read_rows(read: Read, stream: SourceStream, *, needs_order: bool = True) -> DataFrame:
    """Declared columns, the row's system columns, ``_seq``, ``_fate`` and ``_raw_text``; what depends on the batch comes later.

    Where nobody asks for the input order, no row carries it: what a micro-batch hands over is computed for every row, asked for or not.
    """
    frame = stream.frame
    frame = _decode_json(read, frame) if stream.format is not None else _decoded_already(read, frame)
    others = [quote(name) for name in frame.columns if name not in ("_event_time", SEQ)]
    time = _stated_time(read, frame.columns)
    frame = frame.selectExpr(*others, f"{time} AS `_event_time`", f"{SEQ if needs_order else '0L'} AS {SEQ}")
    is_lost = f"WHEN `_event_time` IS NULL THEN {Fate.NO_EVENT_TIME.value} " if _must_state_time(read) else ""
    fate = f"CAST(CASE WHEN {FATE} <> {Fate.OK.value} THEN {FATE} {is_lost}ELSE {Fate.OK.value} END AS TINYINT) AS {FATE}"
    frame = frame.selectExpr(*(quote(c) for c in _kept_columns(read)), RAW_TEXT, fate)
    # The text is wanted of rows that are set aside; carrying it along with every other row would cost a copy each.
    text = f"CASE WHEN {FATE} <> 0 THEN {RAW_TEXT} END AS {RAW_TEXT}"
    return frame.selectExpr(*(quote(c) for c in frame.columns if c != RAW_TEXT), text)


def place_in_time(read: Read, frame: DataFrame, now: int) -> DataFrame:
    """A batch's rows once it is known when they arrived: each has its arrival and event time, and the far future is set aside."""
    arrival = f"coalesce(`_timestamp`, timestamp_micros({of_batch(f'{now}L', SEQ)}))"
    time = "`_event_time`" if _must_state_time(read) else f"coalesce(`_event_time`, {arrival})"
    future = f"{time} > {arrival} + INTERVAL '{read.time.max_future // 1_000_000}.{read.time.max_future % 1_000_000:06d}' SECOND"
    fate = (
        f"CAST(CASE WHEN {FATE} <> {Fate.OK.value} THEN {FATE} WHEN {future} THEN {Fate.FUTURE.value} ELSE {Fate.OK.value} END AS TINYINT)"
    )
    return frame.selectExpr(
        f"* EXCEPT (`_timestamp`, `_event_time`, {FATE})", f"{arrival} AS `_timestamp`", f"{time} AS `_event_time`", f"{fate} AS {FATE}"
    )


def _kept_columns(read: Read) -> list[str]:
    return [*(column.name for column in read.columns), *PROVENANCE, "_event_time", SEQ]


def _decode_json(read: Read, frame: DataFrame) -> DataFrame:
    """JSON with Spark's permissive parser: a bad field is NULL and noted, a bad row is set aside with its text."""
    fields = [*(f"{quote(c.name)}: {spark_type(c)}" for c in read.columns), f"{quote(_CORRUPT)}: STRING"]
    schema = f"STRUCT<{', '.join(fields)}>".replace("\\", "\\\\").replace("'", "\\'")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}')"
    original = ORIGINAL if ORIGINAL in frame.columns else RAW
    others = [quote(name) for name in frame.columns if name != RAW]
    frame = frame.selectExpr(*others, f"CAST({RAW} AS STRING) AS {RAW}")
    frame = frame.selectExpr(*others, RAW, f"from_json({RAW}, '{schema}', {options}) AS {_DECODED}")
    # Only a noted row is looked at again: is it an object with a bad field, or nothing that can be read at all?
    is_object = f"schema_of_variant(try_parse_json({RAW})) LIKE 'OBJECT%'"
    noted = f"{_DECODED}.{_CORRUPT} IS NOT NULL"
    broken = f"{_DECODED} IS NULL OR NOT startswith(ltrim({RAW}), '{{') OR ({noted} AND NOT coalesce({is_object}, false))"
    decoded = [f"{_DECODED}.{quote(c.name)} AS {quote(c.name)}" for c in read.columns]
    fate = _decode_fate(read, f"({broken})", noted, [f"{_DECODED}.{quote(c.name)}" for c in _required(read)])
    return frame.selectExpr(*others, *decoded, f"CAST({original} AS BINARY) AS {RAW_TEXT}", f"{fate} AS {FATE}")


def spark_type(column: ColumnDef) -> str:
    """A column of which no value is known yet is read as text."""
    return "STRING" if column.type in (UNKNOWN, NULL) else str(column.type)


def _decoded_already(read: Read, frame: DataFrame) -> DataFrame:
    bad = f"{BAD} IS NOT NULL" if BAD in frame.columns else "false"
    fate = _decode_fate(read, bad, "false", [quote(c.name) for c in _required(read)])
    raw = f"CAST({BAD} AS BINARY)" if BAD in frame.columns else "CAST(NULL AS BINARY)"
    others = [quote(name) for name in frame.columns if name != BAD]
    return frame.selectExpr(*others, f"{raw} AS {RAW_TEXT}", f"{fate} AS {FATE}")


def _required(read: Read) -> list[ColumnDef]:
    return [column for column in read.columns if not column.nullable]


def _decode_fate(read: Read, broken: str, noted: str, required: list[str]) -> str:
    branches = [f"WHEN {broken} THEN {Fate.UNDECODABLE.value}"]
    if read.bad_fields == "dead_letter":
        branches.append(f"WHEN {noted} THEN {Fate.BAD_FIELD.value}")
    if required:
        missing = " OR ".join(f"{column} IS NULL" for column in required)
        branches.append(f"WHEN {missing} THEN {Fate.BAD_FIELD.value}")
    return f"CASE {' '.join(branches)} ELSE {Fate.OK.value} END"


def _must_state_time(read: Read) -> bool:
    """Whether a row without an event time of its own is set aside; else its arrival time is taken."""
    return read.time.column is not None and read.time.on_missing != "arrival"


def _stated_time(read: Read, columns: list[str]) -> str:
    """SQL for the event time that a row states itself."""
    if read.time.column is not None:
        column = next(c for c in read.columns if c.name.lower() == read.time.column.lower())
        return event_time_sql(quote(column.name), column.type, read.time.format)
    if CASE_TIME in columns:
        return f"coalesce(timestamp_millis({CASE_TIME}), `_event_time`)"
    return "CAST(NULL AS TIMESTAMP)"


def policies(read: Read) -> dict[Fate, str]:
    """What happens to a row that is set aside at the source: dead_letter, drop or fail."""
    return {
        Fate.UNDECODABLE: read.bad_rows,
        Fate.BAD_FIELD: read.bad_rows,
        Fate.NO_EVENT_TIME: read.time.on_missing if read.time.on_missing != "arrival" else "dead_letter",
        Fate.FUTURE: "dead_letter",
        Fate.LATE_AT_SOURCE: "drop",
    }
