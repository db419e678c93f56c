"""A source's raw frame becomes rows: decoded, with system columns, event time and fate. One SELECT, built once per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.runtime import BAD, PROVENANCE, RAW, SEQ, SourceStream
from windrow.model.fate import Fate
from windrow.model.types import NULL, UNKNOWN, ColumnDef
from windrow.plan.stages import Read
from windrow.spark.event_time import event_time_sql
from windrow.spark.expressions import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FATE = "_fate"
RAW_TEXT = "_raw_text"  # what was read, where it could not be decoded
CASE_TIME = "_ts"  # event time of a memory source's row, epoch milliseconds
_DECODED, _CORRUPT = "_decoded", "_corrupt"


def read_rows(read: Read, stream: SourceStream, arrival: str, *, needs_order: bool = True) -> DataFrame:
    """Declared columns, the row's system columns, ``_seq``, ``_fate`` and ``_raw_text``.

    ``arrival`` is SQL for the batch's arrival time; rows that carry their own keep it. Where nobody asks for the input order, no row
    carries it: what a micro-batch hands over is computed for every row, asked for or not.
    """
    frame = stream.frame
    if stream.format is not None:
        frame = _decode_json(read, frame)
    else:
        frame = _decoded_already(read, frame)
    stamped = [f"coalesce(`_timestamp`, {arrival}) AS `_timestamp`", f"{SEQ if needs_order else '0L'} AS {SEQ}"]
    others = [quote(name) for name in frame.columns if name not in ("_timestamp", SEQ)]
    frame = frame.selectExpr(*others, *stamped)
    time, moved = _event_time(read, frame.columns)
    frame = frame.selectExpr("*" if "_event_time" not in frame.columns else _all_but(frame, "_event_time"), f"{time} AS `_event_time`")
    frame = frame.selectExpr(*(quote(c) for c in _kept_columns(read)), RAW_TEXT, f"CAST({_fate(read, moved)} AS TINYINT) AS {FATE}")
    # The text is wanted of rows that are set aside; carrying it along with every other row would cost a copy each.
    text = f"CASE WHEN {FATE} <> 0 THEN {RAW_TEXT} END AS {RAW_TEXT}"
    return frame.selectExpr(*(quote(c) for c in frame.columns if c != RAW_TEXT), text)


def _all_but(frame: DataFrame, name: str) -> str:
    return f"* EXCEPT ({quote(name)})" if name in frame.columns else "*"


def _kept_columns(read: Read) -> list[str]:
    return [*(column.name for column in read.columns), *PROVENANCE, "_event_time", SEQ]


def _decode_json(read: Read, frame: DataFrame) -> DataFrame:
    """JSON with Spark's permissive parser: a bad field is NULL and noted, a bad row is set aside with its text."""
    fields = [*(f"{quote(c.name)}: {spark_type(c)}" for c in read.columns), f"{quote(_CORRUPT)}: STRING"]
    schema = f"STRUCT<{', '.join(fields)}>".replace("\\", "\\\\").replace("'", "\\'")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}')"
    others = [quote(name) for name in frame.columns if name != RAW]
    frame = frame.selectExpr(*others, f"CAST({RAW} AS STRING) AS {RAW}")
    frame = frame.selectExpr(*others, RAW, f"from_json({RAW}, '{schema}', {options}) AS {_DECODED}")
    # Only a noted row is looked at again: is it an object with a bad field, or nothing that can be read at all?
    is_object = f"schema_of_variant(try_parse_json({RAW})) LIKE 'OBJECT%'"
    noted = f"{_DECODED}.{_CORRUPT} IS NOT NULL"
    broken = f"{_DECODED} IS NULL OR NOT startswith(ltrim({RAW}), '{{') OR ({noted} AND NOT coalesce({is_object}, false))"
    decoded = [f"{_DECODED}.{quote(c.name)} AS {quote(c.name)}" for c in read.columns]
    fate = _decode_fate(read, f"({broken})", noted, [f"{_DECODED}.{quote(c.name)}" for c in _required(read)])
    return frame.selectExpr(*others, *decoded, f"CAST({RAW} AS BINARY) AS {RAW_TEXT}", f"{fate} AS {FATE}")


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


def _event_time(read: Read, columns: list[str]) -> tuple[str, bool]:
    """SQL for the event time, and whether it may lie in the future or be missing (arrival time can do neither)."""
    if read.time.column is not None:
        column = next(c for c in read.columns if c.name.lower() == read.time.column.lower())
        stated = event_time_sql(quote(column.name), column.type, read.time.format)
        if read.time.on_missing == "arrival":
            stated = f"coalesce({stated}, `_timestamp`)"
        return stated, True
    if CASE_TIME in columns:
        return f"coalesce(timestamp_millis({CASE_TIME}), `_event_time`, `_timestamp`)", True
    return "`_timestamp`", False


def _fate(read: Read, may_be_off: bool) -> str:
    if not may_be_off:
        return FATE
    future = f"`_event_time` > `_timestamp` + INTERVAL '{read.time.max_future // 1_000_000}.{read.time.max_future % 1_000_000:06d}' SECOND"
    return (
        f"CASE WHEN {FATE} <> {Fate.OK.value} THEN {FATE} WHEN `_event_time` IS NULL THEN {Fate.NO_EVENT_TIME.value} "
        f"WHEN {future} THEN {Fate.FUTURE.value} ELSE {Fate.OK.value} END"
    )


def policies(read: Read) -> dict[Fate, str]:
    """What happens to a row that is set aside at the source: dead_letter, drop or fail."""
    return {
        Fate.UNDECODABLE: read.bad_rows,
        Fate.BAD_FIELD: read.bad_rows,
        Fate.NO_EVENT_TIME: read.time.on_missing if read.time.on_missing != "arrival" else "dead_letter",
        Fate.FUTURE: "dead_letter",
        Fate.LATE_AT_SOURCE: "drop",
    }
