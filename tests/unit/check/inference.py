"""Columns of inferred streams, as a case runner would find them in rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windrow.catalog import Relation
from windrow.catalog.relation import RelationKind
from windrow.model.types import BIGINT, BOOLEAN, DOUBLE, STRING, UNKNOWN, ColumnDef, DataType


def relation_of(name: str, rows: Iterable[Mapping[str, Any]], kind: RelationKind = "stream") -> Relation:
    types: dict[str, DataType] = {}
    for row in rows:
        for key, value in row.items():
            if not key.startswith("_"):
                types[key] = types[key] if value is None and key in types else _type_of(value)
    columns = tuple(ColumnDef(key, type_) for key, type_ in types.items())
    # A stream without a single row has columns that nobody knows.
    return Relation(name, kind, columns, is_known=bool(columns))


def _type_of(value: object) -> DataType:
    match value:
        case bool():
            return BOOLEAN
        case int():
            return BIGINT
        case float():
            return DOUBLE
        case str():
            return STRING
        case _:
            return UNKNOWN
