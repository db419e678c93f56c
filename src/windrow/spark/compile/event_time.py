"""A row's event time as Spark SQL: every format of the contract, and NULL, never an error, for what cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.model.expr import Expr
from windrow.model.types import BIGINT, BINARY, BOOLEAN, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from windrow.spark.compile.expressions import text_literal, to_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Microseconds in one unit of each numeric format, as (multiplier, divisor).
EPOCH_UNITS: dict[str, tuple[int, int]] = {
    "epoch_seconds": (1_000_000, 1),
    "epoch_millis": (1_000, 1),
    "epoch_micros": (1, 1),
    "epoch_nanos": (1, 1_000),
}
# Up to these magnitudes a bare number is taken for seconds, then millis, then micros; beyond, nanos.
_DETECT = (("epoch_seconds", 100_000_000_000), ("epoch_millis", 100_000_000_000_000), ("epoch_micros", 100_000_000_000_000_000))
_MOST_MICROS = 9_000_000_000_000_000_000


def event_time_sql(column: str, type_: DataType, format_: str | None) -> str:
    """A TIMESTAMP expression over ``column`` (already SQL); NULL where the value cannot be read."""
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ, DATE):
        return f"CAST({column} AS TIMESTAMP)"
    if type_ in (BOOLEAN, BINARY):
        return "CAST(NULL AS TIMESTAMP)"
    known = format_.lower() if format_ else None
    if type_ == STRING:
        return _from_text(column, format_, known)
    return _from_number(column, known)


def own_time_sql(time: Expr, frame: DataFrame) -> str:
    """The event time that a window names itself, from a column of any type that can hold one."""
    sql = to_sql(time)
    described = frame.selectExpr(f"{sql} AS t").schema["t"].dataType.typeName()
    kinds: dict[str, DataType] = {
        "string": STRING,
        "timestamp": TIMESTAMP,
        "timestamp_ntz": TIMESTAMP_NTZ,
        "date": DATE,
        "boolean": BOOLEAN,
    }
    return event_time_sql(sql, kinds.get(described, BIGINT), None)


def _from_number(number: str, format_: str | None) -> str:
    if format_ in EPOCH_UNITS:
        return _epoch(number, format_)
    branches = " ".join(f"WHEN abs({number}) < {limit} THEN {_epoch(number, unit)}" for unit, limit in _DETECT)
    return f"CASE {branches} ELSE {_epoch(number, 'epoch_nanos')} END"


def _epoch(number: str, format_: str) -> str:
    multiplier, divisor = EPOCH_UNITS[format_]
    if divisor > 1:
        return f"timestamp_micros(CAST(floor({number} / {divisor}) AS BIGINT))"
    # Out of range would stop the whole job inside Spark: such a value is unreadable instead.
    most = _MOST_MICROS // multiplier
    return f"CASE WHEN {number} BETWEEN -{most} AND {most} THEN timestamp_micros(CAST({number} * {multiplier} AS BIGINT)) END"


def _from_text(text: str, format_: str | None, known: str | None) -> str:
    if known in EPOCH_UNITS:
        return _epoch(f"TRY_CAST({text} AS DECIMAL(38,6))", known)
    if known == "iso8601":
        return f"TRY_CAST({text} AS TIMESTAMP)"
    if format_ is not None:
        return f"try_to_timestamp({text}, {text_literal(format_)})"
    number = f"TRY_CAST({text} AS DECIMAL(38,6))"
    return f"CASE WHEN {number} IS NOT NULL THEN {_from_number(number, None)} ELSE TRY_CAST({text} AS TIMESTAMP) END"
