"""Which loads of a table are put together, and which are let go."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from windrow.errors import JobError
from windrow.spark.tables.versions import PART, WHOLE, TableVersion, TableVersions
from windrow.storage import LocalFolder


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


@pytest.fixture
def versions(tmp_path: Path) -> TableVersions:
    return TableVersions(LocalFolder(tmp_path), retain=5)


def loaded(versions: TableVersions, up_to: int) -> list[tuple[int, str, list[int], str | None]]:
    return [(v.batch_id, v.kind, v.rows["n"].to_pylist(), v.offset) for v in versions.load("Ta ble", up_to)]


def test_the_newest_whole_one_and_the_parts_after_it(versions: TableVersions) -> None:
    for batch, kind in ((0, WHOLE), (2, PART), (3, WHOLE), (5, PART), (9, PART)):
        versions.save("Ta ble", TableVersion(batch, kind, rows(batch), str(batch)))
    assert loaded(versions, -1) == []
    assert loaded(versions, 2) == [(0, WHOLE, [0], "0"), (2, PART, [2], "2")]
    assert loaded(versions, 8) == [(3, WHOLE, [3], "3"), (5, PART, [5], "5")]
    versions.forget_after("Ta ble", 5)
    assert loaded(versions, 99) == [(3, WHOLE, [3], "3"), (5, PART, [5], "5")]


def test_many_parts_become_one_and_what_no_batch_needs_goes(versions: TableVersions, tmp_path: Path) -> None:
    versions.save("Ta ble", TableVersion(0, WHOLE, rows(0), "0"))
    for batch in range(1, 31):
        versions.save("Ta ble", TableVersion(batch, PART, rows(batch), str(batch)))
        versions.settle("Ta ble", batch, rows(*range(batch + 1)), str(batch))
    found = loaded(versions, 30)
    assert [kind for _, kind, _, _ in found] == ["base", *([PART] * 10)]
    assert [n for _, _, numbers, _ in found for n in numbers] == list(range(31))
    assert [n for _, _, numbers, _ in loaded(versions, 25) for n in numbers] == list(range(26))
    assert len(list(tmp_path.glob("*/*"))) == 11, "the parts before the base are gone: batch 25 is the oldest that is kept"


def test_a_torn_file_is_said(versions: TableVersions, tmp_path: Path) -> None:
    versions.save("Ta ble", TableVersion(0, WHOLE, rows(0), None))
    path = next(tmp_path.glob("*/*.whole"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(JobError, match="WR812"):
        versions.load("Ta ble", 0)
