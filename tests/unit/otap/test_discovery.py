"""Finding files: their times, layouts, and what is known of them. The scenarios are in test_otap_scenarios.py."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.unit.otap.files import at, attribute, log, write
from tests.unit.otap.rig import found
from windrow.errors import UsageError
from windrow.otap.discovery import Discovery, TimeRule, with_ids
from windrow.otap.file_names import range_of_name
from windrow.otap.footers import FooterCache
from windrow.otap.layout import Base
from windrow.otap.timing import Timing


def test_statistics_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("13:47") + 1), log(at("13:48") - 1)])
    assert found(tmp_path)[0].times == (at("13:47") + 1, at("13:48") - 1)


@pytest.mark.parametrize("name", ["part-20251318T140000Z-a.parquet", "x.parquet", "part-17-a.parquet"])
def test_a_name_without_a_time_says_nothing(name: str) -> None:
    assert range_of_name(name, Timing()) is None


def test_all_layouts_are_listed(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"))], "A")
    flat, design = tmp_path / "logs" / "flat.parquet", tmp_path / "partition_B" / "logs" / "part-001.parquet"
    design.parent.mkdir(parents=True)
    for path in (flat, design):
        path.write_bytes((tmp_path / "logs" / "_part_id=A" / "part-x.parquet").read_bytes())
    assert sorted((file.listed.part_id, Path(file.path).name) for file in found(tmp_path)) == [
        ("", "flat.parquet"),
        ("A", "part-x.parquet"),
        ("partition_B", "part-001.parquet"),
    ]


def test_a_missing_folder_is_no_failure(tmp_path: Path) -> None:
    assert found(tmp_path / "none") == []
    with pytest.raises(UsageError, match="WR880"):
        Base("nosuch://x/y")


def test_logs_without_a_time_are_found_when_they_were_observed(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(0, observed_time_unix_nano=at("13:40")), log(at("14:00"))])
    assert found(tmp_path)[0].times == (at("13:40"), at("14:00"))
    assert found(tmp_path, rule=TimeRule(falls_back=False))[0].times == (at("14:00"), at("14:00"))


def test_the_designs_name_of_the_time_column_is_understood(tmp_path: Path) -> None:
    path = write(tmp_path, "logs", [log(at("14:00"))])
    table = pq.ParquetFile(path).read()
    renamed = ["timestamp_unix_nano" if name == "time_unix_nano" else name for name in table.column_names]
    pq.write_table(table.rename_columns(renamed), path)
    assert found(tmp_path)[0].times == (at("14:00"), at("14:00"))


def test_attribute_files_are_chosen_by_partition_and_ids(tmp_path: Path) -> None:
    write(tmp_path, "log_attrs", [attribute(1, "k", "v"), attribute(5, "k", "v")], "A", "low.parquet")
    write(tmp_path, "log_attrs", [attribute(6, "k", "v")], "A", "high.parquet")
    write(tmp_path, "log_attrs", [attribute(3, "k", "v")], "A", "unknown.parquet", write_statistics=False)
    write(tmp_path, "log_attrs", [attribute(5, "k", "v")], "B", "other.parquet")
    by_part = Discovery(Base(str(tmp_path)), FooterCache(), Timing(), TimeRule()).files_by_id("log_attrs", "parent_id")
    assert [Path(file.path).name for file in with_ids(by_part["A"], (5, 5))] == ["low.parquet", "unknown.parquet"]
    assert [Path(file.path).name for file in with_ids(by_part["A"], (7, 9))] == ["unknown.parquet"]
    assert with_ids(by_part["B"], None) == []


def test_a_footer_is_read_once_and_again_when_the_file_changes(tmp_path: Path) -> None:
    kept = tmp_path / "cache" / "footers.jsonl"
    write(tmp_path / "data", "logs", [log(0, observed_time_unix_nano=at("13:40")), log(at("14:00"))])
    first = FooterCache(kept)
    files = found(tmp_path / "data", cache=first)
    again = FooterCache(kept)
    assert found(tmp_path / "data", cache=again) == files
    assert (first.reads, again.reads) == (1, 0)
    write(tmp_path / "data", "logs", [log(at("15:00")), log(at("15:00")), log(at("15:01"))])
    assert found(tmp_path / "data", cache=again)[0].times == (at("15:00"), at("15:01"))
    assert again.reads == 1


def test_a_torn_cache_costs_a_reading_and_no_more(tmp_path: Path) -> None:
    kept = tmp_path / "footers.jsonl"
    write(tmp_path, "logs", [log(at("14:00"))])
    files = found(tmp_path, cache=FooterCache(kept))
    kept.write_bytes(kept.read_bytes()[:-20])
    torn = FooterCache(kept)
    assert found(tmp_path, cache=torn) == files
    assert torn.reads == 1
    assert FooterCache(kept).reads == 0
    assert found(tmp_path, cache=FooterCache(kept)) == files


def test_a_file_is_looked_at_until_it_is_whole(tmp_path: Path) -> None:
    write(tmp_path, "logs", [log(at("14:00"))], "A")
    path = tmp_path / "logs" / "_part_id=A" / "part-x.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    discovery = Discovery(Base(str(tmp_path)), FooterCache(tmp_path / "footers"), Timing(), TimeRule())
    assert [file.times for file in discovery.timed_files("logs")] == [None]
    path.write_bytes(whole)
    assert [file.times for file in discovery.timed_files("logs")] == [(at("14:00"), at("14:00"))]
    # From here on nobody asks for its size and time, only whether it is there.
    path.write_bytes(b"")
    assert [file.listed.size for file in discovery.timed_files("logs")] == [len(whole)]
    path.unlink()
    assert discovery.timed_files("logs") == []
