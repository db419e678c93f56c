"""The generator writes what the exporter writes, and the same for the same seed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.otap.cbor import dump, load
from windrow.otap.generate.settings import SECOND, Ids, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.generate.writing import MadeFile
from windrow.otap.tables import TABLES

SMALL = Telemetry(length=60 * SECOND, file_length=20 * SECOND, rows_per_second=10)


def rows_of(files: list[MadeFile], table: str, part_id: str) -> pl.DataFrame:
    own = [pq.ParquetFile(file.path).read() for file in files if file.table == table and file.part_id == part_id]
    plain = [pa.Table.from_arrays([_plain(column) for column in one.columns], names=one.column_names) for one in own]
    return pl.concat(pl.DataFrame(pl.from_arrow(one)) for one in plain)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_dictionary else column


def digest(files: list[MadeFile]) -> str:
    return hashlib.sha256(b"".join(file.path.read_bytes() for file in files)).hexdigest()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first = generate(SMALL, tmp_path / "a")
    assert digest(first) == digest(generate(SMALL, tmp_path / "b"))
    assert digest(first) != digest(generate(replace(SMALL, seed=1), tmp_path / "c"))


def test_every_table_is_there_with_the_exporters_columns(tmp_path: Path) -> None:
    files = generate(replace(SMALL, encoding="plain"), tmp_path)
    assert {file.table for file in files} == set(TABLES)
    for file in files:
        schema = pq.read_schema(file.path)
        expected = TABLES[file.table].schema
        assert [(field.name, field.type) for field in schema] == [(field.name, field.type) for field in expected], file.table


def test_the_layouts_and_names_of_files(tmp_path: Path) -> None:
    hive = generate(SMALL, tmp_path / "hive")
    assert all(file.path.parent.name == f"_part_id={file.part_id}" for file in hive)
    assert all(file.path.name.startswith("part-17") for file in hive)
    flat = generate(replace(SMALL, layout="flat", partitions=1, names="iso"), tmp_path / "flat")
    assert all(file.path.parent == tmp_path / "flat" / file.table for file in flat)
    assert all(file.path.name.startswith("part-20260101T00") for file in flat)


def test_dictionary_types_are_restored_by_a_reader(tmp_path: Path) -> None:
    files = generate(SMALL, tmp_path)
    attributes = next(file for file in files if file.table == "log_attrs")
    assert pq.read_schema(attributes.path).field("key").type == pa.dictionary(pa.uint8(), pa.utf8())


def test_files_without_statistics_can_be_made(tmp_path: Path) -> None:
    files = generate(replace(SMALL, has_statistics=False), tmp_path)
    column = pq.ParquetFile(files[0].path).metadata.row_group(0).column(0)
    assert not column.is_stats_set


@pytest.mark.parametrize("ids", ["batch_local", "partition_unique"])
def test_ids_are_unique_in_a_partition_and_children_find_their_parents(tmp_path: Path, ids: Ids) -> None:
    made = replace(SMALL, ids=ids)
    files = generate(made, tmp_path)
    for part_id in (made.part_id(0), made.part_id(1)):
        ids_of: dict[str, set[int]] = {}
        for name in TABLES:
            frame = rows_of(files, name, part_id)
            if "id" in frame.columns:
                own = frame["id"].drop_nulls()
                assert own.n_unique() == len(own), name
                ids_of[name] = set(own.to_list())
        for name, kind in TABLES.items():
            if kind.parent is not None:
                assert set(rows_of(files, name, part_id)["parent_id"].to_list()) <= ids_of[kind.parent], name


def test_nested_resource_ids_are_moved_only_where_asked(tmp_path: Path) -> None:
    local = generate(SMALL, tmp_path / "local")
    unique = generate(replace(SMALL, ids="partition_unique"), tmp_path / "unique")
    part_id = SMALL.part_id(0)
    assert rows_of(local, "logs", part_id)["resource"].struct.field("id").max() == 2
    nested = set(rows_of(unique, "logs", part_id)["resource"].struct.field("id").to_list())
    assert nested <= set(rows_of(unique, "resource_attrs", part_id)["parent_id"].to_list())


def test_a_parent_is_not_visible_before_its_children(tmp_path: Path) -> None:
    files = generate(SMALL, tmp_path)
    last_child = max(file.visible_at for file in files if file.table == "log_attrs")
    assert max(file.visible_at for file in files if file.table == "logs") >= last_child
    assert files == sorted(files, key=lambda file: (file.visible_at, str(file.path)))


def test_late_files_lie_apart_and_appear_late(tmp_path: Path) -> None:
    files = generate(replace(SMALL, signals=("logs",), late_files=1), tmp_path / "data", tmp_path / "late")
    late = [file for file in files if file.is_late]
    assert [file.table for file in late] == ["logs", "logs"]
    assert all(file.path.is_relative_to(tmp_path / "late") for file in late)
    assert min(file.visible_at for file in late) > max(file.visible_at for file in files if not file.is_late)


def test_logs_without_a_time_keep_the_time_they_were_observed(tmp_path: Path) -> None:
    made = replace(SMALL, signals=("logs",), without_time=0.2)
    logs = rows_of(generate(made, tmp_path), "logs", made.part_id(0))
    without = logs.filter(pl.col("time_unix_nano").cast(pl.Int64) == 0)
    assert 0 < without.height < logs.height
    assert (without["observed_time_unix_nano"].cast(pl.Int64) > 0).all()


@pytest.mark.parametrize("value", [[], {}, -1, 2**63, "é", [1, [2, {"k": None}]], {"a": 1.25, "b": b"\x00"}, list(range(300))])
def test_cbor_reads_what_it_writes(value: object) -> None:
    assert load(dump(value)) == value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("83010203", [1, 2, 3]),
        ("a1616101", {"a": 1}),
        ("fb3ff8000000000000", 1.5),
        ("f93c00", 1.0),
        ("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"),
        ("5f42010243030405ff", b"\x01\x02\x03\x04\x05"),
    ],
)
def test_cbor_of_other_writers_is_read(data: str, value: object) -> None:
    assert load(bytes.fromhex(data)) == value


@pytest.mark.parametrize("data", ["", "9f01", "61", "ff", "0101", "1c", "9f" * 200])
def test_torn_cbor_is_an_error_with_a_name(data: str) -> None:
    with pytest.raises(ValueError, match="CBOR"):
        load(bytes.fromhex(data))
