"""Which columns the rows of each signal may have: those that an OTAP stream has. A column without a place is refused, never left out."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.connectors.telemetry import BAD_ROW
from windrow.errors import UsageError
from windrow.model.types import INTEGERS, NULL, STRING, UNKNOWN, Array, ColumnDef, DataType, Map, Struct, is_numeric
from windrow.otap.columns import columns_of

_POINTS = ("number_data_points", "histogram_data_points", "exp_histogram_data_points", "summary_data_points")
_TABLES = {"logs": ("logs",), "traces": ("spans",), "metrics": _POINTS}
# Without one of these a record says nothing.
_NEEDED = {"logs": ("body", "attributes", "event_name"), "traces": ("name",), "metrics": ("metric_name",)}


def fields_of(signal: str) -> dict[str, DataType]:
    """
    >>> list(fields_of("traces"))[:5]
    ['time', '_part_id', 'id', 'start_time_unix_nano', 'duration_time_unix_nano']
    """
    return {column.name: column.type for table in _TABLES[signal] for column in columns_of({"table": table})}


def check_columns(statement: str, signal: str, columns: Iterable[ColumnDef]) -> None:
    fields = fields_of(signal)
    given = {column.name: column.type for column in columns}
    for name, type_ in given.items():
        if name not in fields:
            there = ", ".join(field for field in fields if field not in given)
            message = f'{signal} of OTLP have no place for the column "{name}" of {statement}'
            raise UsageError(BAD_ROW, message, f"put it into attributes, MAP('{name}', {name}) AS attributes, or call it one of: {there}")
        if not _fits(name, fields[name], type_):
            raise UsageError(BAD_ROW, f'the column "{name}" of {statement} is {type_}, and must be {fields[name]}', f"CAST({name} AS ...)")
    needed = _NEEDED[signal]
    if given and not any(name in given for name in needed):
        raise UsageError(BAD_ROW, f"{statement} has none of the columns {', '.join(needed)}, so its {signal} would say nothing", "SELECT *")


def _fits(name: str, wanted: DataType, given: DataType) -> bool:
    if given in (UNKNOWN, NULL, wanted):
        return True
    match wanted:
        case Map():
            return isinstance(given, Map) and given.key in (STRING, UNKNOWN)
        case Array():
            return isinstance(given, Array) and isinstance(given.element, Struct) == isinstance(wanted.element, Struct)
        case Struct():
            return isinstance(given, Struct) or (name == "body" and given == STRING)
        case _ if wanted in INTEGERS:
            return given in INTEGERS
        case _:
            return is_numeric(wanted) and is_numeric(given)
