"""What stands in the value of a record, as columns: CSV, and values that are taken as they are.

A value that cannot be decoded is kept, byte for byte, in ``_bad``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from windrow.connectors.csv_values import any_of, from_text, is_wrong
from windrow.connectors.encoding import quoted
from windrow.connectors.kafka.security import BAD_OPTION
from windrow.connectors.runtime import BAD, ORIGINAL
from windrow.errors import UsageError
from windrow.model.types import STRING, ColumnDef

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CORRUPT, _FIELDS = "__corrupt", "__fields"
_IS_TEXT = "is_valid_utf8(CAST({0} AS STRING))"
VALID_TEXT = f"CASE WHEN {_IS_TEXT} THEN CAST({{0}} AS STRING) END"
"""SQL for bytes as text; NULL where they are no UTF-8."""


def raw_columns(column: ColumnDef) -> dict[str, str]:
    """SQL for the whole value in one column. Text that is none is a bad row."""
    if column.type != STRING:
        return {column.name: ORIGINAL, BAD: "CAST(NULL AS BINARY)"}
    return {column.name: VALID_TEXT.format(ORIGINAL), BAD: f"CASE WHEN NOT {_IS_TEXT.format(ORIGINAL)} THEN {ORIGINAL} END"}


def csv_columns(frame: DataFrame, columns: tuple[ColumnDef, ...], options: Mapping[str, str]) -> DataFrame:
    """One CSV record a value, in the order of the columns. Read as text and cast here: what does not fit costs a NULL, not the row."""
    from pyspark.sql import functions as F

    others = [quoted(name) for name in frame.columns]
    schema = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in [*(column.name for column in columns), _CORRUPT])
    text = F.expr(VALID_TEXT.format(ORIGINAL))
    frame = frame.select(*others, F.from_csv(text, F.lit(schema), _csv_options(options)).alias(_FIELDS))
    fields = [F.col(f"{_FIELDS}.`{column.name.replace('`', '``')}`").alias(column.name) for column in columns]
    frame = frame.select(*others, *fields, F.col(_FIELDS).isNull().alias(_FIELDS), F.col(f"{_FIELDS}.{_CORRUPT}").alias(_CORRUPT))
    values = [from_text(column) for column in columns]
    strict = options.get("bad.fields") == "dead_letter"
    judged = [(column, value) for column, value in zip(columns, values, strict=True) if strict or not column.nullable]
    wrong: list[Column] = [F.col(_FIELDS), F.col(_CORRUPT).isNotNull(), *(is_wrong(column, value) for column, value in judged)]
    # A record without a value is bad as well, and there are no bytes of it to keep.
    bad = F.when(any_of(wrong), F.coalesce(quoted(ORIGINAL), F.lit(b""))).alias(BAD)
    named = [value.alias(column.name) for column, value in zip(columns, values, strict=True)]
    return frame.select(*named, bad, *(other for name, other in zip(frame.columns, others, strict=False) if name != ORIGINAL))


def _csv_options(options: Mapping[str, str]) -> dict[str, str]:
    delimiter = options.get("csv.delimiter", ",")
    for key in ("csv.quote", "csv.escape"):
        if len(options.get(key, '"')) != 1:
            raise UsageError(BAD_OPTION, f"'{key}' = '{options[key]}' is not one character", f"'{key}' = '\"'")
    return {
        "sep": "\t" if delimiter == "\\t" else delimiter,
        "quote": options.get("csv.quote", '"'),
        "escape": options.get("csv.escape", '"'),
        "nullValue": options.get("csv.null", ""),
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
    }
