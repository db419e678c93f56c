"""The columns of a table that are declared, found by name in whatever case and cast to what is declared."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.connectors.encoding import quoted
from windrow.errors import UsageError
from windrow.model.types import ColumnDef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def names_in(table: str, there: Sequence[str], columns: Sequence[ColumnDef], code: str) -> list[str]:
    """The name that each column has in the table."""
    known: dict[str, str] = {name.lower(): name for name in there}
    found = []
    for column in columns:
        if column.name.lower() not in known:
            close = difflib.get_close_matches(column.name.lower(), known, 1)
            meant = f"did you mean {known[close[0]]}? " if close else ""
            raise UsageError(code, f'the table {table} has no column "{column.name}"', f"{meant}it has: {', '.join(there)}")
        found.append(known[column.name.lower()])
    return found


def declared(frame: DataFrame, columns: Sequence[ColumnDef], names: Sequence[str]) -> DataFrame:
    return frame.select(*(quoted(name).cast(str(column.type)).alias(column.name) for column, name in zip(columns, names, strict=True)))
