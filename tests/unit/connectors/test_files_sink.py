"""Tables written by the driver: names, manifests, second attempts, and disks that fail."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.connectors.files import sink as files_sink
from windrow.connectors.files.manifest import committed_files, read_manifest
from windrow.connectors.files.settings import SinkSettings
from windrow.connectors.files.sink import FileSink
from windrow.connectors.runtime import Output
from windrow.errors import JobError, UsageError
from windrow.storage import LocalFolder, StorageError
from windrow.storage.errors import write_error

ROWS = pa.table({"k": ["a", "b"], "n": [1, None], "_key": ["x", "y"]})


def sink(path: Path, statement: str = "out", **options: str) -> FileSink:
    made = FileSink(LocalFolder(str(path)), statement, SinkSettings.of({"path": str(path), **options}))
    made.open()
    return made


def tree(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_a_batch_and_its_manifest(tmp_path: Path) -> None:
    made = sink(tmp_path / "deep/out")
    made.write(Output(12, ("n", "k"), table=ROWS))
    made.close()
    files = tree(tmp_path / "deep/out")
    assert list(files) == ["_manifest/0000000012-out.json", "batch-0000000012-out-00000.json"]
    assert files["batch-0000000012-out-00000.json"] == b'{"n":1,"k":"a"}\n{"n":null,"k":"b"}\n'
    assert json.loads(files["_manifest/0000000012-out.json"]) == {
        "batch": 12, "statement": "out", "format": "json", "rows": 2,
        "files": [{"name": "batch-0000000012-out-00000.json", "bytes": 35}],
    }  # fmt: skip


def test_twice_is_once(tmp_path: Path) -> None:
    made = sink(tmp_path)
    made.write(Output(1, ("k",), table=ROWS))
    once = tree(tmp_path)
    made.write(Output(1, ("k",), table=ROWS))
    sink(tmp_path).write(Output(1, ("k",), table=ROWS))
    assert tree(tmp_path) == once


def test_empty_outputs_leave_nothing_not_even_of_an_earlier_attempt(tmp_path: Path) -> None:
    made = sink(tmp_path)
    made.write(Output(1, ("k",), table=ROWS.slice(0, 0)))
    assert tree(tmp_path) == {}
    made.write(Output(1, ("k",), table=ROWS))
    made.write(Output(1, ("k",), table=ROWS.slice(0, 0)))
    assert tree(tmp_path) == {}


def test_statements_share_a_folder_and_odd_names_stay_inside(tmp_path: Path) -> None:
    for statement in ("a", "a/../b", "a-00001"):
        sink(tmp_path, statement).write(Output(0, ("k",), table=ROWS))
    sink(tmp_path, "a").write(Output(0, ("k",), table=ROWS))
    assert [manifest.statement for manifest in read_manifest(str(tmp_path))] == ["a", "a-00001", "a/../b"]
    assert len(committed_files(str(tmp_path))) == 3
    assert all(os.path.exists(path) for path in committed_files(f"file://{tmp_path}"))


def test_csv_and_parquet(tmp_path: Path) -> None:
    odd = pa.table({"s": ["", None, 'a"b', "c,d", " e", "NULL"], "f": [1.5, None, float("nan"), 1e-7, 2.0, 3.0]})
    sink(tmp_path / "c", format="csv", **{"csv.null": "NULL"}).write(Output(0, ("s", "f"), table=odd))
    text = (tmp_path / "c/batch-0000000000-out-00000.csv").read_text()
    assert text.splitlines() == ["s,f", '"",1.5', "NULL,NULL", '"a""b",NaN', '"c,d",1e-07', '" e",2.0', '"NULL",3.0']
    sink(tmp_path / "h", format="csv", **{"csv.header": "false", "csv.delimiter": "\t"}).write(Output(0, ("k", "n"), table=ROWS))
    assert (tmp_path / "h/batch-0000000000-out-00000.csv").read_text() == "a\t1\nb\t\n"
    nanos = pa.table({"t": pa.array([1], pa.timestamp("ns", "UTC")), "x": [1]})
    sink(tmp_path / "p", format="parquet").write(Output(0, ("t",), table=nanos))
    back = pq.read_table(tmp_path / "p/batch-0000000000-out-00000.parquet")
    assert back.schema.field("t").type == pa.timestamp("us", "UTC")
    assert back.column_names == ["t"]


def _many(rows: int) -> pa.Table:
    return pa.table({"n": list(range(rows)), "k": [None if row % 7 == 0 else str(row % 5) for row in range(rows)]})


@pytest.mark.parametrize(("rows", "sizes"), [(10, [10]), (11, [6, 5]), (40, [20, 20]), (41, [11, 11, 11, 8]), (100, [17] * 5 + [15])])
def test_a_large_table_becomes_several_files_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(files_sink, "_FEW_ROWS", 10)
    monkeypatch.setattr(files_sink, "_MOST_ROWS", 20)
    made = sink(tmp_path, format="parquet")
    made.write(Output(3, ("n", "k"), table=_many(rows)))
    [manifest] = read_manifest(str(tmp_path))
    assert manifest.rows == rows
    assert [file.name for file in manifest.files] == [f"batch-0000000003-out-{number:05d}.parquet" for number in range(len(sizes))]
    parts = [pq.read_table(tmp_path / file.name) for file in manifest.files]
    assert [part.num_rows for part in parts] == sizes
    assert pa.concat_tables(parts).equals(_many(rows))
    before = tree(tmp_path)
    monkeypatch.setattr(files_sink, "_MOST_AT_ONCE", 1)
    made.write(Output(3, ("n", "k"), table=_many(rows)))
    assert tree(tmp_path) == before, "written again it leaves the same files, on whatever machine"


def test_a_smaller_table_leaves_no_file_of_a_larger_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_sink, "_FEW_ROWS", 10)
    monkeypatch.setattr(files_sink, "_MOST_ROWS", 20)
    made = sink(tmp_path, format="parquet")
    made.write(Output(3, ("n",), table=_many(50)))
    made.write(Output(3, ("n",), table=_many(5)))
    assert [path.name for path in tmp_path.glob("batch-*")] == ["batch-0000000003-out-00000.parquet"]


def test_only_values_that_come_again_get_a_dictionary(tmp_path: Path) -> None:
    rows = range(60_000)
    table = pa.table(
        {"key": [f"k{n % 9}" for n in rows], "count": [n // 9 % 50 for n in rows], "total": list(rows), "mean": [n / 7 for n in rows]}
    )
    sink(tmp_path / "flat", format="parquet").write(Output(0, ("key", "count", "total", "mean"), table=table))
    path = tmp_path / "flat/batch-0000000000-out-00000.parquet"
    group = pq.read_metadata(path).row_group(0)
    having = [group.column(n).path_in_schema for n in range(4) if "RLE_DICTIONARY" in group.column(n).encodings]
    assert having == ["key", "count"]
    assert pq.read_table(path).equals(table)
    nested = table.append_column("list", pa.array([[n % 2] for n in rows]))
    sink(tmp_path / "nested", format="parquet").write(Output(0, ("list", "total"), table=nested))
    assert pq.read_table(tmp_path / "nested/batch-0000000000-out-00000.parquet").equals(nested.select(["list", "total"]))


def test_a_large_table_of_texts_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_sink, "_FEW_ROWS", 10)
    sink(tmp_path).write(Output(0, ("n",), table=_many(50)))
    assert len(list(tmp_path.glob("batch-*"))) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EROFS, "WR511"), (errno.EACCES, "WR511"), (errno.ENOSPC, "WR512"), (errno.EIO, "WR513")]
)
def test_open_finds_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str) -> None:
    def fail(*_: Any) -> None:
        raise write_error(str(tmp_path / "out"), os.strerror(number), number)

    monkeypatch.setattr(LocalFolder, "write_new", fail)
    with pytest.raises(UsageError, match=code) as caught:
        sink(tmp_path / "out")
    assert str(tmp_path / "out") in str(caught.value)
    assert "hint: " in str(caught.value)


def test_open_finds_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(UsageError, match="WR510"):
            sink(path)


@pytest.mark.parametrize("failing", ["write_new", "move", "make_durable", "replace_atomically"])
@pytest.mark.parametrize("call", [1, 2])
def test_a_disk_that_runs_full_leaves_no_part_of_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, call: int
) -> None:
    made = sink(tmp_path)
    made.write(Output(0, ("k",), table=ROWS))
    before = tree(tmp_path)
    real, calls = getattr(LocalFolder, failing), 0

    def fail(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise write_error(str(tmp_path), os.strerror(errno.ENOSPC), errno.ENOSPC)
        return real(*arguments)

    monkeypatch.setattr(LocalFolder, failing, fail)
    if call > {"write_new": 2, "move": 1, "make_durable": 2, "replace_atomically": 1}[failing]:
        pytest.skip("a batch of one table is done before")
    with pytest.raises(JobError, match="WR523") as caught:
        made.write(Output(1, ("k",), table=ROWS))
    assert "batch 1 was not written" in str(caught.value)
    assert tree(tmp_path) == before
    monkeypatch.undo()
    made.write(Output(1, ("k",), table=ROWS))
    assert [manifest.batch_id for manifest in read_manifest(str(tmp_path))] == [0, 1]


def test_a_really_full_disk() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with pytest.raises(StorageError, match="No space left"):
        LocalFolder("/dev").write_new("full", b"x")


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    sink(tmp_path)
    (tmp_path / "_manifest/0000000000-out.json").write_text("{")
    with pytest.raises(JobError, match="WR525"):
        read_manifest(str(tmp_path))
    assert read_manifest(str(tmp_path / "nowhere")) == []
