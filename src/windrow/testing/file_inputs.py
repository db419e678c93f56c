"""The rows of a case as files that the files connector reads: JSON lines or Parquet, the way that users' own rows take."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.connectors.memory.runtime import RESERVED
from windrow.model.policies import MissingTime
from windrow.model.types import BIGINT, STRING, VARIANT, ColumnDef
from windrow.plan.stages import Job, Read
from windrow.plan.time_rules import TimeRule
from windrow.spark.internals.arrow_types import arrow_type
from windrow.spark.scan.row_reader import spark_type
from windrow.testing.case import MARKERS, Case

FORMATS = ("json", "parquet")
# The event time of a row, epoch milliseconds, where its stream does not name a column for it.
TIME_FIELD = "_ts"
_TIMES = ("_ts", "_event_time", "_timestamp", "_stream")
_ORIGIN = re.compile(r"\b_(?:offset|partition|topic|key|headers)\b", re.IGNORECASE)


class NotAsFilesError(Exception):
    """Why rows of a case cannot be files."""


def why_not_as_files(case: Case) -> str | None:
    """What keeps a case from this way before any row is written; None where nothing does.

    >>> why_not_as_files(Case("c", "SELECT _key FROM t", (), None, []))
    'it asks where a row came from, and files have no keys, headers or partitions'
    """
    if case.expects_error:
        return "it ends in an error before rows are read"
    if case.partitions > 1:
        return "it has several partitions, and a folder is one"
    rows = [*(case.rows or ()), *(row for own in (case.streams or {}).values() for row in own)]
    stated = {key for row in rows for key in row if key in RESERVED and key not in _TIMES and row[key] is not None}
    if stated:
        return f"its rows state {sorted(stated)[0]}, which files do not have"
    if _ORIGIN.search(case.sql):
        return "it asks where a row came from, and files have no keys, headers or partitions"
    if case.batches == "per_row":
        return None
    # Markers end a batch; within one, rows that state their arrival would all have the last one's.
    times = {row["_timestamp"] for row in rows if row.get("_timestamp") is not None and not MARKERS & row.keys()}
    return "rows of one batch state when they arrived, and a file arrives at once" if len(times) > 1 else None


def reading_files(job: Job, input_folder: Path, format_: str) -> Job:
    """The same job, with files in the place of its memory sources. What it puts out was settled before: a column more changes nothing."""
    return replace(
        job, stages=tuple(_from_files(stage, input_folder, format_) if isinstance(stage, Read) else stage for stage in job.stages)
    )


def _from_files(read: Read, folder: Path, format_: str) -> Read:
    if read.connector != "memory":
        return read
    options = (("path", str(folder / read.name)), ("format", format_), ("files.per_batch", "1"))
    # Files have a type for every column, also for one of which no value is known.
    known = tuple(replace(column, type=STRING) if spark_type(column) == str(STRING) else column for column in read.columns)
    from_files = replace(read, connector="files", options=options, columns=known)
    if read.time.column is not None:
        return from_files
    rule = TimeRule(TIME_FIELD, "epoch_millis", MissingTime.ARRIVAL, read.time.max_future)
    projected = None if read.projected_columns is None else (*read.projected_columns, TIME_FIELD)
    return replace(from_files, columns=(*known, ColumnDef(TIME_FIELD, BIGINT)), time=rule, projected_columns=projected)


def write_file(path: Path, read: Read, rows: Sequence[Mapping[str, Any]]) -> None:
    """One file is one micro-batch. It appears under its name only when it is whole."""
    hidden = path.with_name(f".{path.name}.tmp")
    own = [_own(row, read) for row in rows]
    if path.suffix == ".json":
        # A file without rows is one blank line, or there would be nothing to read and no batch.
        hidden.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own) or "\n", encoding="utf-8")
    else:
        pq.write_table(pa.table([_column(column, own) for column in read.columns], schema=_schema(read)), hidden)
    hidden.rename(path)


def _own(row: Mapping[str, Any], read: Read) -> dict[str, Any]:
    own = {name: value for name, value in row.items() if name not in RESERVED}
    if read.time.column == TIME_FIELD:
        stated = row.get("_ts") if row.get("_ts") is not None else row.get("_event_time")
        own |= {} if stated is None else {TIME_FIELD: stated}
    return own


def _schema(read: Read) -> pa.Schema:
    return pa.schema([(column.name, _type(column)) for column in read.columns])


def _type(column: ColumnDef) -> pa.DataType:
    from pyspark.sql.types import DataType

    if column.type == VARIANT:
        raise NotAsFilesError("it has a VARIANT, which Parquet files of other writers do not have")
    return arrow_type(DataType.fromDDL(spark_type(column)))


def _column(column: ColumnDef, rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    type_ = _type(column)
    values = [next((value for name, value in row.items() if name.lower() == column.name.lower()), None) for row in rows]
    try:
        return pa.array([_typed(value, type_) for value in values], type_)
    except (pa.ArrowException, ValueError, TypeError, ArithmeticError, OverflowError):
        raise NotAsFilesError(f"its rows have a value that no Parquet column of type {column.type} can hold") from None


def _typed(value: Any, type_: pa.DataType) -> Any:
    """A value of JSON as Arrow takes it for a type; an error where it is of another kind."""
    types = pa.types
    if value is None:
        return None
    if types.is_timestamp(type_):
        when = datetime.fromisoformat(_text(value))
        return when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if types.is_date(type_):
        return date.fromisoformat(_text(value))
    if types.is_decimal(type_):
        return Decimal(str(_number(value))).quantize(Decimal(1).scaleb(-type_.scale))
    if types.is_string(type_):
        return _text(value)
    if types.is_binary(type_):
        raise TypeError
    if types.is_floating(type_):
        return float(_number(value))
    if types.is_list(type_):
        return [_typed(one, type_.value_type) for one in value]
    if types.is_map(type_):
        return [(_typed(key, type_.key_type), _typed(one, type_.item_type)) for key, one in value.items()]
    if types.is_struct(type_):
        return {field.name: _typed(value.get(field.name), field.type) for field in type_}
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value
