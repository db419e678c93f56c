"""Delta Lake and Iceberg tables through their stores: batches, keys, other writers, and what a table cannot hold. No Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from windrow.connectors.delta.store import DeltaStore
from windrow.connectors.iceberg.store import IcebergStore
from windrow.connectors.lake.fitting import check_fit, fitted, storable
from windrow.connectors.lake.settings import LakeSettings
from windrow.connectors.lake.sink import LakeSink, misfit
from windrow.connectors.lake.store import NO_BATCH, LakeStore, LakeTable, Writing
from windrow.connectors.runtime import Output, SinkRequest
from windrow.errors import JobError, UsageError
from windrow.model.types import INT, INTERVAL, STRING, UNKNOWN, Array, ColumnDef
from windrow.model.types import Decimal as Decimal_
from windrow.resilience import FailureClass

Make = Callable[..., LakeStore]
ROWS = {"k": pa.string(), "n": pa.int64(), "v": pa.float64()}
SCHEMA = pa.schema(list(ROWS.items()))


@pytest.fixture(params=["delta", "iceberg"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "delta":
        return lambda *partitions: DeltaStore({"path": str(tmp_path / "t")}, partitions)
    return lambda *partitions: IcebergStore({"table": "db.t", "warehouse": str(tmp_path)}, partitions)


def rows(*values: tuple[Any, ...]) -> pa.Table:
    return pa.table(
        [pa.array(column, type_) for column, type_ in zip(zip(*values, strict=True), ROWS.values(), strict=True)], schema=SCHEMA
    )


def table_of(store: LakeStore) -> LakeTable:
    found = store.open()
    assert found is not None
    return found


def put(store: LakeStore, batch_id: int, *values: tuple[Any, ...], writer: str = "w") -> None:
    table = table_of(store)
    table.append(fitted(rows(*values), table.schema), Writing(writer, batch_id))


def replace(store: LakeStore, batch_id: int, new: list[tuple[Any, ...]], gone: list[tuple[Any, ...]], key: tuple[str, ...]) -> None:
    table = table_of(store)
    taken = rows(*gone).select(key) if gone else SCHEMA.empty_table().select(key)
    given = rows(*new) if new else SCHEMA.empty_table()
    table.replace(fitted(given, table.schema), fitted(taken, table.schema).select(key), key, Writing("w", batch_id))


def all_rows(store: LakeStore) -> list[tuple[Any, ...]]:
    found = table_of(store).rows(["k", "n", "v"])
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def test_each_writer_has_its_last_batch(make: Make) -> None:
    store = make()
    assert store.open() is None
    store.create(SCHEMA)
    store.create(SCHEMA) if isinstance(store, DeltaStore) else None
    assert table_of(store).last_batch("w") == NO_BATCH
    put(store, 0, ("a", 1, 0.5))
    put(store, 7, ("b", 2, None), writer="other")
    table = table_of(store)
    assert (table.last_batch("w"), table.last_batch("other")) == (0, 7)
    table.note(Writing("other", 3))
    assert (table_of(store).last_batch("w"), table_of(store).last_batch("other")) == (0, 3)
    assert all_rows(store) == [("a", 1, 0.5), ("b", 2, None)]


def test_a_commit_over_one_that_came_in_between_fails(make: Make) -> None:
    store = make()
    store.create(SCHEMA)
    first, second, third = table_of(store), table_of(store), table_of(store)
    given = fitted(rows(("a", 1, 0.5)), first.schema)
    first.append(given, Writing("w", 1))
    writes: tuple[Callable[[], None], ...] = (
        lambda: second.append(given, Writing("w", 1)),
        lambda: third.replace(given, fitted(rows(("b", 1, 0.5)), third.schema).select(["k"]), ["k"], Writing("w", 1)),
    )
    for write in writes:
        with pytest.raises(Exception) as failed:  # noqa: PT011 - each library has its own
            write()
        assert store.classify(failed.value) is FailureClass.TRANSIENT
    assert all_rows(store) == [("a", 1, 0.5)]


@pytest.mark.parametrize("key", [("k",), ("k", "n")])
def test_rows_take_the_place_of_those_with_their_key(make: Make, key: tuple[str, ...]) -> None:
    store = make()
    store.create(SCHEMA)
    put(store, 0, *((f"k{n}", n, 1.0) for n in range(1000)), (None, 5, 1.0))
    replace(store, 1, [("k3", 3, 2.0), ("new", 1, 2.0), (None, 5, 3.0)], [("k4", 4, None), ("never", 1, None)], key)
    assert table_of(store).last_batch("w") == 1
    expected = {(f"k{n}", n, 1.0) for n in range(1000) if n not in (3, 4)} | {("k3", 3, 2.0), ("new", 1, 2.0), (None, 5, 3.0)}
    assert set(all_rows(store)) == expected
    assert len(all_rows(store)) == len(expected)
    replace(store, 2, [], [("new", 1, None)], key)
    replace(store, 3, [(f"k{n}", n, 9.0) for n in range(500)], [], key)
    changed = {(k, n, 9.0 if k is not None and n < 500 else v) for k, n, v in expected - {("new", 1, 2.0)} if (k, n) != ("k4", 4)}
    assert set(all_rows(store)) == changed | {("k4", 4, 9.0)}


def test_a_table_that_is_cut_by_a_column(make: Make, tmp_path: Path) -> None:
    store = make("N")
    store.create(SCHEMA)
    put(store, 0, ("a", 1, 0.5), ("b", 2, 0.5))
    assert {path.parent.name for path in tmp_path.rglob("*.parquet") if "delta_log" not in str(path)} == {"n=1", "n=2"}
    replace(store, 1, [("a", 1, 1.5)], [], ("k", "n"))
    assert all_rows(store) == [("a", 1, 1.5), ("b", 2, 0.5)]
    with pytest.raises(UsageError, match=r"\[WR911\] 'partition.by' names day"):
        (DeltaStore({"path": str(tmp_path / "u")}, ["day"]) if isinstance(store, DeltaStore) else _other(tmp_path)).create(SCHEMA)


def _other(folder: Path) -> IcebergStore:
    return IcebergStore({"table": "db.u", "warehouse": str(folder)}, ["day"])


def test_values_of_every_type_come_back(make: Make) -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    given = storable(
        pa.table(
            {
                "t": pa.array([at, None], pa.timestamp("ns", "Asia/Tokyo")),
                "local": pa.array([at.replace(tzinfo=None), None], pa.timestamp("us")),
                "d": pa.array([Decimal("1.10"), None], pa.decimal128(12, 2)),
                "day": pa.array([at.date(), None], pa.date32()),
                "b": pa.array([b"\0x", None], pa.binary()),
                "yes": pa.array([True, None]),
                "small": pa.array([1, None], pa.int16()),
                "single": pa.array([0.5, None], pa.float32()),
                "list": pa.array([["a", None], None], pa.list_(pa.string())),
                "both": pa.array([{"x": 1, "y": "z"}, None], pa.struct([("x", pa.int32()), ("y", pa.string())])),
                "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())),
                "word": pa.array(["x", "x"]).dictionary_encode(),
            }
        )
    )
    store = make()
    store.create(given.schema)
    table = table_of(store)
    check_fit("t", table.schema, given.schema, ())
    table.append(fitted(given, table.schema), Writing("w", 0))
    found = storable(table_of(store).rows(given.column_names)).to_pylist()
    assert found == given.to_pylist()


def test_what_does_not_fit_is_said_before_it_is_written() -> None:
    there = pa.schema([("id", pa.int32()), ("name", pa.string()), pa.field("must", pa.int64(), nullable=False)])
    for given, said in (
        (pa.schema([("idd", pa.int32())]), 'has no column "idd"'),
        (pa.schema([("id", pa.int64())]), "is int32, which cannot hold every int64"),
        (pa.schema([("id", pa.int32())]), 'the column "must" of t must have a value'),
    ):
        with pytest.raises(UsageError, match=r"\[WR913\]") as refused:
            check_fit("t", there, given, ())
        assert said in str(refused.value)
    with pytest.raises(UsageError, match=r'\[WR914\] the key "k" is no column'):
        check_fit("t", there, pa.schema([("must", pa.int64())]), ("k",))
    with pytest.raises(UsageError, match=r"(?s)\[WR913\].*CAST\(x AS STRING\)"):
        storable(pa.table({"x": pa.array([1], pa.duration("us"))}))


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[WR911\] 'table' = 't' is no table of a namespace"):
        IcebergStore({"table": "t", "warehouse": str(tmp_path)})
    with pytest.raises(UsageError, match=r"\[WR911\] a catalog of the type rest needs its address"):
        IcebergStore({"table": "db.t", "catalog.type": "rest"})


@pytest.mark.parametrize(("make_one", "package"), [(DeltaStore, "deltalake"), (IcebergStore, "pyiceberg.catalog")])
def test_a_library_that_is_missing(make_one: Callable[[dict[str, str]], LakeStore], package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"(?s)\[WR910\].*by the package .*, which is not installed.*pip install 'windrow\["):
        make_one({})


def test_a_store_that_fails_is_told_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried again while it may pass, then told; a refusal is told at once."""
    store = DeltaStore({"path": str(tmp_path / "t")})
    tries = []

    def full() -> None:
        tries.append(1)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "open", full)
    request = SinkRequest("out", {"retry.timeout": "300ms"}, "job", (), ())
    sink = LakeSink(request, store, LakeSettings.of(request))
    with pytest.raises(JobError, match=r"\[WR917\] could not write batch 3 to the table .*: \[Errno 28\] No space left on device"):
        sink.write(Output(3, ("k",), pa.table({"k": ["a"]})))
    assert len(tries) > 1


def test_what_a_table_would_refuse_is_known_before_anything_stops(make: Make) -> None:
    store = make()

    def asked(*columns: ColumnDef, **options: str) -> str | None:
        return misfit(store, SinkRequest("out", {key.replace("_", "."): value for key, value in options.items()}, "job", columns, ()))

    assert asked(ColumnDef("k", STRING)) is None
    assert "there is no table" in str(asked(ColumnDef("k", STRING), table_create="false"))
    store.create(SCHEMA)
    assert asked(ColumnDef("k", STRING), ColumnDef("n", INT)) is None
    assert asked(ColumnDef("k", UNKNOWN)) is None
    assert 'has no column "new"' in str(asked(ColumnDef("new", Array(STRING))))
    assert "cannot hold every" in str(asked(ColumnDef("n", Decimal_(10, 2))))
    assert "CAST(k AS STRING)" in str(asked(ColumnDef("k", INTERVAL)))
