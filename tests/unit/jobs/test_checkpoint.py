"""A restart cuts the input where the first run did: what Spark's offset log did not promise to a batch is listed again."""

from __future__ import annotations

from pathlib import Path

from windrow.jobs.checkpoint import Checkpoint
from windrow.spark.folders import LocalFolder

FILES = 'v1\n{"path":"in/a.json","timestamp":1,"batchId":0}\n'


def _checkpoint(tmp_path: Path, offsets: dict[str, str], sources: dict[str, str]) -> Checkpoint:
    for kind, entries in (("offsets", offsets), ("sources", sources)):
        for name, text in entries.items():
            path = tmp_path / "checkpoint" / kind / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return Checkpoint(None, LocalFolder(tmp_path))


def _left(tmp_path: Path) -> set[str]:
    root = tmp_path / "checkpoint" / "sources"
    return {str(path.relative_to(root)) for path in root.glob("*/*")}


def test_a_file_listing_beyond_the_offset_log_is_removed(tmp_path: Path) -> None:
    log = {"8": 'v1\n{"batchTimestampMs":1}\n{"logOffset":7}\n', "9": 'v1\n{"batchTimestampMs":2}\n{"logOffset":8}\n'}
    checkpoint = _checkpoint(tmp_path, log, {"0/7": FILES, "0/8": FILES, "0/9.compact": FILES, "0/.9.compact.crc": "x", "0/10": FILES})
    checkpoint.forget_unplanned_files(1)
    assert _left(tmp_path) == {"0/7", "0/8"}


def test_without_any_batch_all_listings_go_but_a_starting_point_stays(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path, {}, {"0/0": FILES, "1/0": 'v1\n{"topic":{"0":5}}', "2/0": "v1\n1700000000000"})
    checkpoint.forget_unplanned_files(3)
    assert _left(tmp_path) == {"1/0", "2/0"}


def test_each_source_has_its_own_line(tmp_path: Path) -> None:
    log = {"3": 'v1\n{"batchTimestampMs":1}\n-\n{"logOffset":2}\n7\n'}
    checkpoint = _checkpoint(tmp_path, log, {"0/0": FILES, "1/2": FILES, "1/3": FILES, "2/0": "v1\n1700000000000"})
    checkpoint.forget_unplanned_files(3)
    assert _left(tmp_path) == {"1/2", "2/0"}


def test_how_far_a_batch_reads_each_source(tmp_path: Path) -> None:
    log = {"3": 'v1\n{"batchTimestampMs":1}\n{"t":{"0":5,"1":7}}\n-\n7\n'}
    checkpoint = _checkpoint(tmp_path, log, {})
    assert checkpoint.offsets_of(3) == [{"t": {"0": 5, "1": 7}}, {}, {}]
    assert checkpoint.has_begun()
    assert not _checkpoint(tmp_path / "new", {}, {}).has_begun()
