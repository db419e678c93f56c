"""Tables as OTAP batches: ids dense in 16 bits, cut where there are more, nothing without an owner."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from windrow.otap.covers import RESOURCES, SCOPES
from windrow.otap.rebuild.collect import Tables
from windrow.otap.tables import TABLES
from windrow.otap.windows import RESOURCE_OWNER, SCOPE_OWNER

MOST = 65_536
_PLAIN = {"encoding": "plain"}
_ORIGINS = {"resource": (RESOURCES, RESOURCE_OWNER), "scope": (SCOPES, SCOPE_OWNER)}
# The exporter adds it to metrics; OTAP does not know it.
_NOT_OTAP = {"univariate_metrics": {"dropped_attributes_count"}}


def to_batches(root: str, tables: Tables, most: int = MOST) -> Iterator[Tables]:
    """The tables of one partition cut into batches of at most ``most`` root rows, each with ids of its own from 0."""
    rows = tables[root]
    for start in range(0, rows.num_rows, most):
        yield _batch(root, rows.slice(start, most), tables)


def _batch(root: str, rows: pa.Table, tables: Tables) -> Tables:
    made: Tables = {}
    owners = {name: _distinct(rows[owner]) for name, (_, owner) in _ORIGINS.items()}
    nested = {name: _moved_struct(rows[name], rows[owner], owners[name]) for name, (_, owner) in _ORIGINS.items()}
    ids = _distinct(rows["id"])
    made[root] = _typed(root, rows, {"id": _places(rows["id"], ids), **nested})
    for name, (table, _) in _ORIGINS.items():
        if table in tables:
            made[table] = _children(table, tables[table], owners[name])
    _add_children(root, ids, tables, made)
    return {name: table for name, table in made.items() if table.num_rows}


def _add_children(parent: str, ids: pa.Array, tables: Tables, made: Tables) -> None:
    for name, kind in TABLES.items():
        if kind.parent != parent or name not in tables:
            continue
        own = tables[name].filter(pc.is_in(tables[name]["parent_id"].cast(pa.uint32()), ids))
        own_ids = _distinct(own["id"]) if "id" in own.column_names else None
        made[name] = _children(name, own, ids, own_ids)
        if own_ids is not None:
            _add_children(name, own_ids, tables, made)


def _children(table: str, rows: pa.Table, parents: pa.Array, ids: pa.Array | None = None) -> pa.Table:
    rows = rows.filter(pc.is_in(rows["parent_id"].cast(pa.uint32()), parents))
    changed = {"parent_id": _places(rows["parent_id"], parents)}
    if ids is not None:
        changed["id"] = _places(rows["id"], ids)
    return _typed(table, rows, changed)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    return column.cast(pa.uint32()).drop_null().unique()


def _places(column: pa.ChunkedArray, among: pa.Array) -> pa.ChunkedArray:
    """Dense numbers; null where a row has none."""
    return pc.index_in(column.cast(pa.uint32()), among, skip_nulls=True)


def _moved_struct(structs: pa.ChunkedArray, owners: pa.ChunkedArray, among: pa.Array) -> pa.Array:
    whole = structs.combine_chunks()
    fields = [whole.type.field(place) for place in range(whole.type.num_fields)]
    ids = _places(owners, among).combine_chunks().cast(pa.uint16())
    arrays = [ids if field.name == "id" else whole.field(field.name) for field in fields]
    typed = [pa.field("id", pa.uint16(), metadata=_PLAIN) if field.name == "id" else field for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=typed, mask=whole.is_null())


def _typed(table: str, rows: pa.Table, changed: dict[str, pa.ChunkedArray | pa.Array]) -> pa.Table:
    """In the order and types of the data model, columns that nobody filled left out, ids marked as plain numbers."""
    kind = TABLES[table]
    is_short = {"id": kind.is_root, "parent_id": kind.parent is None or TABLES[kind.parent].is_root}
    fields, columns = [], []
    for field in kind.schema:
        column = changed.get(field.name, rows[field.name] if field.name in rows.column_names else None)
        if column is None or field.name in _NOT_OTAP.get(table, ()):
            continue
        if field.name in is_short:
            fields.append(pa.field(field.name, pa.uint16() if is_short[field.name] else pa.uint32(), metadata=_PLAIN))
        else:
            fields.append(pa.field(field.name, column.type if field.name in changed else field.type))
        columns.append(column.cast(fields[-1].type))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
