"""The receiver on a manual clock: what it remembers, what came late, and a soak against a plain reference."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.otap.files import at, attribute, log, write
from tests.unit.otap.rig import WANTED, Rig
from windrow.otap.layout import Base
from windrow.otap.notes import Ahead
from windrow.otap.receiver import Receiver
from windrow.otap.timing import MINUTE, SECOND, Timing, Window, busy_windows, count_busy


def test_late_links_are_listed_whichever_file_came_last(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(WANTED, table="span_links"))

    def spans(name: str, times: dict[int, str]) -> None:
        common = {"name": "x", "resource": {"id": 0}, "scope": {"id": 0}, "trace_id": b"t" * 16, "span_id": b"s" * 8}
        rows = [{**common, "id": n, "start_time_unix_nano": at(time), "duration_time_unix_nano": 1} for n, time in times.items()]
        write(rig.data, "spans", rows, name=name)

    def links(name: str, *parents: int) -> None:
        write(rig.data, "span_links", [{"parent_id": n, "trace_id": b"l" * 16, "span_id": b"s" * 8} for n in parents], name=name)

    spans("first.parquet", {0: "13:47:10", 1: "13:48:10"})
    links("first.parquet", 0, 0, 1)
    assert [len(rows) for _, rows in rig.run(at("14:00"))] == [2]
    # Of the span that was handed over and the one that was not.
    links("second.parquet", 0, 1)
    rig.run(at("14:00"))
    assert rig.late() == [("second.parquet", at("13:47"), 1)]
    # Links may be there before their span; when it comes late, they do.
    links("third.parquet", 5)
    assert [len(rows) for _, rows in rig.run(at("14:01"))] == [2]
    spans("late.parquet", {5: "13:47:30"})
    links("fourth.parquet", 5, 0)
    rig.run(at("14:01"))
    listed = [("second.parquet", at("13:47"), 1), ("late.parquet", at("13:47"), 2), ("fourth.parquet", at("13:47"), 1)]
    assert rig.late() == listed
    rig.start()
    rig.run(at("14:01"))
    assert rig.late() == listed


def test_empty_windows_are_passed_over_and_nothing_goes_back(rig: Rig) -> None:
    assert rig.run(at("14:00")) == []
    write(rig.data, "logs", [log(at("10:00:30"))], "A")
    write(rig.data, "logs", [log(at("13:00:30"))], "B")
    assert rig.run(at("14:00")) == [(at("10:01"), [at("10:00:30")]), (at("13:01"), [at("13:00:30")]), (at("13:48"), [])]
    assert rig.run(at("13:00")) == []
    assert rig.run(at("14:01")) == [(at("13:49"), [])]


def test_what_lies_ahead_is_noted(rig: Rig) -> None:
    write(rig.data, "logs", [log(at(f"13:{minute}:30")) for minute in (40, 41, 42, 43)])
    rig.now = at("13:54:00")
    until = rig.receiver.advance(None)
    assert rig.notes.ahead() == Ahead(safe=1, waiting=2, late_rows=0)
    assert rig.receiver.plan(None, until or 0)
    write(rig.data, "logs", [log(at("13:40:31"))], name="late.parquet")
    rig.receiver.advance(until)
    assert rig.notes.ahead() == Ahead(safe=0, waiting=2, late_rows=1)
    rig.start()
    rig.receiver.advance(until)
    assert rig.notes.ahead() == Ahead(safe=0, waiting=2, late_rows=1)


@pytest.mark.parametrize("seed", range(20))
def test_windows_are_counted_as_they_would_be_taken(seed: int) -> None:
    chance = random.Random(seed)
    starts = [chance.randrange(100) * 20 * SECOND for _ in range(8)]
    ranges = [(start, start + chance.randrange(20) * 10 * SECOND) for start in starts]
    begin, end = chance.randrange(10) * 60 * SECOND, chance.randrange(10, 40) * 60 * SECOND
    assert count_busy(Timing(), begin, end, ranges) == len(list(busy_windows(Timing(), begin, end, ranges)))


def test_the_start_can_be_chosen(tmp_path: Path) -> None:
    for name, start in (("given", at("13:47:20")), ("latest", "latest")):
        folder = tmp_path / name
        folder.mkdir()
        rig = Rig(folder, replace(WANTED, start=start))
        write(rig.data, "logs", [log(at("13:40")), log(at("13:47:30"))])
        rig.run(at("14:00"))
        assert [rows for _, rows in rig.windows] == ([[at("13:47:30")]] if name == "given" else [])
        assert rig.late() == []


def test_several_windows_may_go_into_one_batch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(WANTED, windows_at_once=3))
    write(rig.data, "logs", [log(at("13:40") + n * MINUTE) for n in range(5)])
    assert [len(rows) for _, rows in rig.run(at("14:30"))] == [3, 2]


def test_bounded_input_needs_no_clock(tmp_path: Path) -> None:
    rig = Rig(tmp_path, replace(WANTED, is_ended=True))
    write(rig.data, "logs", [log(at("13:40")), log(at("13:42"))])
    assert [until for until, _ in rig.run(0)] == [at("13:41"), at("13:42"), at("13:43")]


def test_a_window_that_was_planned_keeps_its_files(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("13:47:10"))], name="first.parquet")
    rig.now = at("14:00")
    until = rig.receiver.advance(None)
    assert until is not None
    before = rig.receiver.plan(None, until)
    write(rig.data, "logs", [log(at("13:47:20"))], name="second.parquet")
    rig.start()
    assert rig.receiver.plan(None, until) == before
    rig.step()
    assert rig.windows == [(at("13:48"), [at("13:47:10")])]
    rig.step()
    assert rig.late() == [("second.parquet", at("13:47"), 1)]


def test_torn_files_are_noted_once_and_taken_when_they_are_whole(rig: Rig) -> None:
    path = write(rig.data, "logs", [log(at("13:47:10"))])
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    write(rig.data, "logs", [log(at("13:47:20"))], name="good.parquet")
    rig.receiver.advance(None)
    rig.receiver.advance(None)
    assert list(rig.notes.faults()) == ["logs/_part_id=A/part-x.parquet"]
    path.write_bytes(whole)
    assert rig.run(at("14:00")) == [(at("13:48"), [at("13:47:10"), at("13:47:20")])]


def test_files_that_are_not_read_are_named_until_they_are_mended(rig: Rig) -> None:
    logs = write(rig.data, "logs", [log(at("13:47:10"))], name="torn.parquet")
    write(rig.data, "logs", [log(at("13:47:20"))])
    attributes = write(rig.data, "log_attrs", [attribute(0, "k", "v")])
    whole = {path: path.read_bytes() for path in (logs, attributes)}
    for path, data in whole.items():
        path.write_bytes(data[:50])
    rig.run(at("14:00"))
    assert sorted(rig.notes.unread()) == ["log_attrs/_part_id=A/part-x.parquet", "logs/_part_id=A/torn.parquet"]
    for path, data in whole.items():
        path.write_bytes(data)
    write(rig.data, "logs", [log(at("13:49:10"), 0)], name="next.parquet")
    rig.start()
    rig.run(at("14:05"))
    assert rig.notes.unread() == {}


def test_torn_notes_lose_no_window(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("13:47:10"))])
    rig.run(at("14:00"))
    seen = rig.folder / "notes" / "seen.jsonl"
    seen.write_text(seen.read_text() + '{"file": "tor')
    write(rig.data, "logs", [log(at("13:47:30"))], name="late.parquet")
    rig.start()
    rig.run(at("14:00"))
    rig.start()
    assert rig.late() == [("late.parquet", at("13:47"), 1)]


def test_the_folder_is_not_listed_all_the_time(rig: Rig) -> None:
    rig.receiver = Receiver(Base(str(rig.data)), WANTED, rig.notes, lambda: rig.now, look_every=5 * SECOND)
    assert rig.run(at("14:00")) == []
    write(rig.data, "logs", [log(at("13:47:10"))])
    assert rig.run(at("14:00") + 4 * SECOND) == []
    assert rig.run(at("14:00") + 5 * SECOND) == [(at("13:48"), [at("13:47:10")])]
    assert rig.run(at("14:01")) == [(at("13:49"), [])]


def test_plans_can_be_forgotten_so_that_windows_are_made_anew(rig: Rig) -> None:
    write(rig.data, "logs", [log(at("13:46:10")), log(at("13:47:10"))])
    rig.run(at("14:00"))
    write(rig.data, "logs", [log(at("13:47:30"))], name="late.parquet")
    rig.run(at("14:00"))
    assert rig.notes.forget_plans(at("13:47")) == 1
    assert [(one.window, one.rows) for one in rig.notes.forget_late(at("13:47"))] == [(Window(at("13:47"), at("13:48")), 1)]
    rig.done = at("13:47")
    rig.start()
    assert rig.run(at("14:00")) == [(at("13:48"), [at("13:47:10"), at("13:47:30")])]
    assert rig.late() == []


@pytest.mark.parametrize("seed", range(4))
def test_soak_every_row_is_in_its_window_once_or_in_the_late_list(tmp_path: Path, seed: int) -> None:
    """Files with drifting clocks appear in any order, some late; the receiver is killed at any moment."""
    chance = random.Random(seed)
    rig = Rig(tmp_path, replace(WANTED, windows_at_once=chance.choice([1, 3])))
    staged, start = tmp_path / "staged", at("13:00")
    arrivals: list[tuple[int, Path]] = []
    expected: Counter[int] = Counter()
    for n in range(40):
        opened = start + chance.randrange(30 * MINUTE)
        times = [opened + chance.randrange(MINUTE) + chance.randrange(-MINUTE, MINUTE) for _ in range(chance.randrange(1, 20))]
        expected.update(times)
        path = write(staged, "logs", [log(time) for time in times], chance.choice("AB"), f"f{n}.parquet")
        delay = chance.randrange(12 * MINUTE) if chance.random() < 0.8 else chance.randrange(60 * MINUTE)
        arrivals.append((opened + delay, path))
    now = start
    while now < start + 120 * MINUTE:
        for arrival, path in [one for one in arrivals if one[0] <= now]:
            target = rig.data / path.relative_to(staged)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
            arrivals.remove((arrival, path))
        rig.now = now
        while rig.step(chance.choice([None, None, "offset", "planned"])):
            pass
        if chance.random() < 0.2:
            rig.start()
        now += chance.randrange(3 * MINUTE)
    rig.run(now + 60 * MINUTE)
    ends = [until for until, _ in rig.windows]
    assert ends == sorted(set(ends))
    assert rig.wanted.timing.window_granularity == 60 * SECOND
    handed = Counter(time for _, rows in rig.windows for time in rows)
    assert handed <= expected
    missing = Counter((time // MINUTE * MINUTE) for time in (expected - handed).elements())
    listed: Counter[int] = Counter()
    for one in rig.notes.late():
        listed[one.window.start] += one.rows
    assert missing == listed
