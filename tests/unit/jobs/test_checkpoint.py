"""A restart cuts the input where the first run did: what Spark's offset log did not promise to a batch is listed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.errors import JobError
from windrow.jobs.checkpoint import Checkpoint
from windrow.storage import LocalFolder

FILES = 'v1\n{"path":"in/a.json","timestamp":1,"batchId":0}\n'


def _checkpoint(tmp_path: Path, offsets: dict[str, str], sources: dict[str, str]) -> Checkpoint:
    for kind, entries in (("offsets", offsets), ("sources", sources)):
        for name, text in entries.items():
            path = tmp_path / "checkpoint" / kind / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return Checkpoint(LocalFolder(tmp_path))


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


@pytest.mark.parametrize("text", ['v2\n{"batchTimestampMs":1}\n{"sources":{"s":{"logOffset":1}}}\n', "v10\n{}\n"])
def test_a_log_of_another_version_is_refused(tmp_path: Path, text: str) -> None:
    checkpoint = _checkpoint(tmp_path, {"3": text}, {})
    with pytest.raises(JobError, match='only "v1" is understood') as refused:
        checkpoint.offsets_of(3)
    assert refused.value.code == "WR817"
    with pytest.raises(JobError, match="offsets/3"):
        checkpoint.arrival_of(3)
    with pytest.raises(JobError, match="offsets/3"):
        checkpoint.plan_empty(4, 17)


@pytest.mark.parametrize("text", ["", "v1", 'v1\n{"batchTimestampMs"', "v1\n-\n", "garbage"])
def test_a_torn_log_is_an_error_that_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(JobError, match="damaged") as refused:
        _checkpoint(tmp_path, {"3": text}, {}).arrival_of(3)
    assert refused.value.code == "WR813"


def test_ticks_of_the_clock_come_and_go(tmp_path: Path) -> None:
    text = 'v1\n{"batchTimestampMs":%d}\n{"logOffset":7}'
    checkpoint = _checkpoint(tmp_path, {str(n): text % n for n in range(2, 6)}, {})
    (tmp_path / "checkpoint" / "sources" / "1").mkdir(parents=True)
    checkpoint.fit_ticks(1, has_ticks=True)
    assert (tmp_path / "checkpoint/offsets/5").read_text() == text % 5 + "\n-"
    assert not (tmp_path / "checkpoint/sources/1").exists(), "they begin anew"
    assert (tmp_path / "checkpoint/offsets/2").read_text() == text % 2, "Spark asks for the last two, and one may be planned"
    (tmp_path / "checkpoint/offsets/6").write_text(text % 6 + "\n17")
    for _ in range(2):
        checkpoint.fit_ticks(1, has_ticks=False)
        assert [(tmp_path / f"checkpoint/offsets/{n}").read_text() for n in (5, 6)] == [text % 5, text % 6]
    assert checkpoint.offsets_of(6) == [{"logOffset": 7}]


def test_notes_for_other_sources_are_written_beside(tmp_path: Path) -> None:
    text = 'v1\n{"batchTimestampMs":%d}\n{"logOffset":%d}\n{"topic":{"0":%d}}\n9'
    checkpoint = _checkpoint(tmp_path, {str(n): text % (n, n, n) for n in range(4)}, {})
    root = tmp_path / "checkpoint"
    for n in range(3):
        (root / "commits").mkdir(exist_ok=True)
        (root / "commits" / str(n)).write_text(f"v1\n{n}")
    for number, name in enumerate(("files", "kafka", "ticks")):
        (root / "sources" / str(number)).mkdir(parents=True, exist_ok=True)
        (root / "sources" / str(number) / "0").write_text(name)
    (root / "metadata").write_text("id")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    checkpoint.write_for("checkpoint-2", ["f", "k"], ["new", "k"])
    assert {path: path.read_bytes() for path in before} == before
    place = tmp_path / "checkpoint-2"
    written = {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file() and path.suffix != ".crc"}
    entry = 'v1\n{"batchTimestampMs":%d}\n-\n{"topic":{"0":%d}}'
    assert written == {
        **{f"offsets/{n}": entry % (n, n) for n in (1, 2)},
        **{f"commits/{n}": f"v1\n{n}" for n in (1, 2)},
        "sources/1/0": "kafka",
        "metadata": "id",
    }


def test_a_batch_that_reads_nothing_is_noted_as_spark_would(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path, {"3": 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":"b"}}\n{"logOffset":7}\n-'}, {})
    checkpoint.plan_empty(4, 17)
    assert checkpoint.arrival_of(4) == 17_000
    assert checkpoint.offsets_of(4) == [{"logOffset": 7}, {}]
    assert (tmp_path / "checkpoint/offsets/4").read_text() == (
        'v1\n{"batchWatermarkMs":0,"batchTimestampMs":17,"conf":{"a":"b"}}\n{"logOffset":7}\n-'
    )
