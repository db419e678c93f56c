"""Small OTAP files with rows chosen by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.otap.tables import TABLES
from windrow.otap.timing import SECOND


def at(text: str) -> int:
    """A time of the day on which all of it happens."""
    return int(datetime.fromisoformat(f"2025-09-18T{text}").replace(tzinfo=UTC).timestamp()) * SECOND


def write(base: Path, table: str, rows: Sequence[dict[str, Any]], part: str = "A", name: str = "part-x.parquet", **options: Any) -> Path:
    """A file of a table; columns that rows do not have are null, or 0 where the exporter would write 0."""
    schema = TABLES[table].schema
    columns = [_column([row.get(field.name) for row in rows], field) for field in schema]
    path = base / table / f"_part_id={part}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    made = pa.Table.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))
    pq.write_table(made, path, **{"version": "2.6", **options})
    return path


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    if pa.types.is_temporal(field.type):
        return pa.array([0 if value is None and not field.nullable else value for value in values], pa.int64()).cast(field.type)
    return pa.array(values, field.type)


def log(time: int, number: int | None = None, resource: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": number, "time_unix_nano": time, "observed_time_unix_nano": time, "resource": {"id": resource}, "scope": {"id": 0}, **more}


def attribute(parent: int, key: str, value: str) -> dict[str, Any]:
    return {"parent_id": parent, "key": key, "type": 1, "str": value}
