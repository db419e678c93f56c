"""Rows into files: rolled by age, each table on its own, named and encoded as the exporter does it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.otap.chance import mixed_number
from windrow.otap.generate.origins import BATCH, Frames
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.tables import PART_ID, TABLES

# A new file is visible a moment after its last row.
_CLOSING = SECOND // 4
_ORIGINS = ("resource_attrs", "scope_attrs")
_SHORT_DICTIONARY = {"key", "severity_text", "schema_url", "event_name", "name", "unit"}


@dataclass(frozen=True)
class MadeFile:
    """A file as the exporter would have left it. ``visible_at`` is when it would have appeared under its name."""

    table: str
    part_id: str
    path: Path
    rows: int
    visible_at: int
    is_late: bool = False


def write_partition(made: Telemetry, partition: int, frames: Frames, base: Path, late_base: Path) -> list[MadeFile]:
    """All files of one partition; late ones go under ``late_base``, from where they can be moved in."""
    part_id = made.part_id(partition)
    planned = list(_rolled(made, partition, frames))
    files = []
    for cut in _after_children(planned, made):
        folder = Path(cut.table, f"{PART_ID}={part_id}") if made.layout == "hive" else Path(cut.table)
        path = (late_base if cut.is_late else base) / folder / _name(made, partition, cut)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(made, to_arrow(cut.table, cut.rows, made, part_id), path)
        files.append(MadeFile(cut.table, part_id, path, cut.rows.height, cut.visible_at, cut.is_late))
    return files


@dataclass(frozen=True)
class _Cut:
    """The rows of one file and the batches they are of."""

    table: str
    rows: pl.DataFrame
    batches: tuple[int, int]
    opened_at: int
    visible_at: int
    is_late: bool = False

    def shares_batches(self, other: _Cut) -> bool:
        return self.batches[0] <= other.batches[1] and other.batches[0] <= self.batches[1]


def _rolled(made: Telemetry, partition: int, frames: Frames) -> Iterator[_Cut]:
    """Each table starts its first file when its first row comes, so their files do not line up."""
    for table, frame in frames.items():
        phase = mixed_number(partition * 100 + TABLES[table].payload) % made.file_length
        sequence = pl.col(BATCH) // 3
        stamped = frame.with_columns(_file=((sequence + 1) * made.batch_length + phase) // made.file_length)
        for rows in stamped.partition_by("_file", maintain_order=True):
            first, last = rows[BATCH][0], rows[BATCH][-1]
            opened, closed = (made.start + (batch // 3 + 1) * made.batch_length for batch in (first, last))
            yield _Cut(table, rows.drop("_file"), (first, last), opened, closed + _CLOSING)


def _after_children(cuts: list[_Cut], made: Telemetry) -> Iterator[_Cut]:
    """A file is held back until the files with its rows' attributes are there; the last of the root files may be late."""
    roots = [cut for cut in cuts if TABLES[cut.table].is_root]
    late = {id(cut) for cut in roots[-made.late_files :]} if made.late_files else set()
    by_table: dict[str, list[_Cut]] = {}
    for cut in cuts:
        by_table.setdefault(cut.table, []).append(cut)
    for cut in cuts:
        children = [name for name, kind in TABLES.items() if kind.parent == cut.table]
        below = [*children, *(_ORIGINS if TABLES[cut.table].is_root else ())]
        held = [child.visible_at for name in below for child in by_table.get(name, ()) if child.shares_batches(cut)]
        is_late = id(cut) in late
        yield replace(cut, visible_at=max([cut.visible_at, *held]) + made.late_by * is_late, is_late=is_late)


def _name(made: Telemetry, partition: int, cut: _Cut) -> str:
    own = mixed_number(made.salt(partition, 0) + cut.opened_at + TABLES[cut.table].payload)
    if made.names == "iso":
        at = datetime.fromtimestamp(cut.opened_at // SECOND, UTC)
        return f"part-{at:%Y%m%dT%H%M%SZ}-{own % 2**32:08x}.parquet"
    return f"part-{cut.opened_at // 1_000_000}-{uuid.UUID(int=own << 64 | mixed_number(own), version=4)}.parquet"


def to_arrow(table: str, rows: pl.DataFrame, made: Telemetry, part_id: str) -> pa.Table:
    """The rows in the exporter's own types."""
    schema = TABLES[table].schema
    columns = [_column(rows[field.name], field.type, made) for field in schema]
    fields = [field.with_type(column.type).with_nullable(True) for field, column in zip(schema, columns, strict=True)]
    metadata = {PART_ID: part_id} if TABLES[table].is_root else None
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=metadata))


def _column(values: pl.Series, type_: pa.DataType, made: Telemetry) -> pa.Array:
    if pa.types.is_fixed_size_binary(type_):
        return _identifiers(values, type_)
    if pa.types.is_struct(type_) and made.ids == "partition_unique" and values.struct.fields[0] == "id":
        type_ = pa.struct([field.with_type(pa.uint32()) if field.name == "id" else field for field in type_])
    column = values.to_arrow().cast(pa.int64()).cast(type_) if pa.types.is_temporal(type_) else values.to_arrow().cast(type_)
    if made.encoding == "dictionary" and pa.types.is_string(type_):
        small = pa.uint8() if values.name in _SHORT_DICTIONARY else pa.uint16()
        encoded = column.dictionary_encode()
        if len(encoded.dictionary) < 2**small.bit_width:
            return pa.DictionaryArray.from_arrays(encoded.indices.cast(small), encoded.dictionary)
    return column


def _identifiers(values: pl.Series, type_: pa.DataType) -> pa.Array:
    """Trace ids (pairs of 64 bits) and span ids (64 bits) as bytes."""
    is_there = values.is_not_null()
    if values.dtype == pl.Array:
        nothing = pl.lit([0, 0], dtype=pl.Array(pl.UInt64, 2))
        bits = values.to_frame("pair").select(pl.coalesce("pair", nothing))["pair"].arr.explode(empty_as_null=True)
    else:
        bits = values.fill_null(0)
    data = bits.rechunk().to_arrow().buffers()[1]
    validity = None if is_there.all() else is_there.rechunk().to_arrow().buffers()[1]
    return pa.Array.from_buffers(type_, len(values), [validity, data])


def _write(made: Telemetry, table: pa.Table, path: Path) -> None:
    pq.write_table(
        table,
        path,
        compression="NONE",
        use_dictionary=True,
        write_statistics=made.has_statistics,
        write_page_index=made.has_statistics,
        version="2.6",
        store_schema=True,
        row_group_size=1_048_576,
    )
