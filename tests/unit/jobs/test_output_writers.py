"""What becomes of rows while the system of an output is away or slow, without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

from windrow.connectors.runtime import Output, Refused, Sink
from windrow.errors import JobError, OutageError, WindrowError
from windrow.jobs.output_writers import BufferedWriter, DroppingWriter, FailoverWriter, HaltingWriter, OutputWriter, Place, Written
from windrow.jobs.spill import SpillFolder
from windrow.jobs.spilling import SpillingWriter
from windrow.observe.status import AWAY, SLOW, UP
from windrow.plan.outages import OtherOutput, OutageRule
from windrow.plan.stages import Write
from windrow.resilience import StoppedWaitingError
from windrow.storage import LocalFolder

Made = TypeVar("Made", bound=BufferedWriter)
DAY = 86_400_000_000


class Shop(Sink):
    """Takes each batch once, unless it is away, closed for good or stuck."""

    def __init__(self) -> None:
        self.batches: dict[int, list[int]] = {}
        self.order: list[int] = []
        self.tables: dict[int, pa.Table] = {}
        self.error: Exception | None = None
        self.free = threading.Event()
        self.free.set()
        self.calls = 0
        self.refuses: list[Refused] = []

    def open(self) -> None:
        if self.error is not None:
            raise self.error

    def write(self, output: Output) -> Sequence[Refused] | None:
        self.calls += 1
        if self.error is not None:
            raise self.error
        self.free.wait(60)
        assert output.table is not None
        if output.batch_id not in self.batches:
            self.order.append(output.batch_id)
        self.batches[output.batch_id] = output.table["v"].to_pylist()
        self.tables[output.batch_id] = output.table
        return self.refuses

    def go_away(self) -> None:
        self.error = OutageError("WR877", "nobody answers")


class Setting:
    """Makes writers, and closes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop = Shop()
        self.stopping = threading.Event()
        self.faults: list[WindrowError] = []
        self.now = 1_000.0
        self.checked = 0
        self._made: list[OutputWriter] = []

    def spill(self) -> SpillFolder:
        return SpillFolder(LocalFolder(str(self.folder / "spill")))

    def place(self, committed: int = -1) -> Place:
        return Place(self.spill(), committed, self.stopping, self._check, self.faults.append, lambda: self.now)

    def _check(self) -> None:
        self.checked += 1

    def spilling(self, committed: int = -1, max_bytes: int = 1 << 20, max_age: int = DAY, timeout: float = 30.0) -> SpillingWriter:
        rule = OutageRule("spill", int(timeout * 1e6), max_bytes=max_bytes, max_age=max_age)
        return self.open(SpillingWriter(_write(rule), self.shop, self.place(committed)))

    def dropping(self, timeout: float = 30.0) -> DroppingWriter:
        return self.open(DroppingWriter(_write(OutageRule("drop", int(timeout * 1e6))), self.shop, self.place()))

    def open(self, writer: Made) -> Made:
        self._made.append(writer)
        writer.open()
        return writer

    def close(self) -> None:
        self.shop.free.set()
        for writer in self._made:
            writer.close()


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    made = Setting(tmp_path)
    yield made
    made.close()


def _write(rule: OutageRule) -> Write:
    return Write("out", "shop", (), outage=rule)


def _batch(batch_id: int, *values: int) -> Output:
    return Output(batch_id, ("v",), pa.table({"v": pa.array(values, pa.int64())}))


def _until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.01)


def _give(writer: OutputWriter, *batches: Output) -> list[Written]:
    found = []
    for batch in batches:
        found.append(writer.write(batch))
        writer.committed(batch.batch_id)
    return found


def test_rows_wait_in_order_and_come_once_when_the_system_is_back(setting: Setting) -> None:
    writer = setting.spilling()
    assert _give(writer, _batch(0, 1)) == [Written()]
    setting.shop.go_away()
    assert [one.spilled for one in _give(writer, _batch(1, 2, 3), _batch(2), _batch(3, 4))] == [2, 0, 1]
    status = writer.status()
    assert (status.state, status.waiting_batches, status.waiting_rows, status.oldest) == (AWAY, 2, 3, 1_000.0)
    assert "nobody answers" in (status.error or "")
    setting.shop.error = None
    writer.drain(60)
    assert (setting.shop.order, setting.shop.batches) == ([0, 1, 3], {0: [1], 1: [2, 3], 3: [4]})
    assert (writer.status().state, writer.status().waiting_rows) == (UP, 0)
    assert _give(writer, _batch(4, 5)) == [Written()], "nothing waits, so it is written at once"
    assert setting.checked >= 2, "the lease is looked at before rows are delivered later"


def test_what_waits_is_delivered_by_the_next_run(setting: Setting) -> None:
    setting.shop.go_away()
    first = setting.spilling()
    _give(first, _batch(0, 1), _batch(1, 2))
    first.close()
    setting.shop.error = None
    setting.spilling(committed=1).drain(60)
    assert setting.shop.order == [0, 1]
    assert setting.spill().is_empty()


def test_a_batch_that_was_not_committed_is_not_delivered(setting: Setting) -> None:
    """It will run again, perhaps with other rows: the one who runs it puts it there anew."""
    setting.shop.go_away()
    first = setting.spilling()
    _give(first, _batch(0, 1))
    first.write(_batch(1, 99))
    first.close()
    setting.shop.error = None
    again = setting.spilling(committed=0)
    again.drain(60)
    assert setting.shop.order == [0]
    _give(again, _batch(1, 2))
    again.drain(60)
    assert setting.shop.batches == {0: [1], 1: [2]}


def test_a_batch_that_runs_again_after_it_was_delivered_is_not_written_twice(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1))
    setting.shop.error = None
    writer.drain(60)
    writer.close()
    calls = setting.shop.calls
    again = setting.spilling(committed=-1)
    assert again.write(_batch(0, 1)) == Written(spilled=1), "the ledger says what it said the first time"
    assert setting.shop.calls == calls


def test_a_batch_that_runs_again_within_a_run_waits_once(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    writer.write(_batch(0, 1))
    _give(writer, _batch(0, 1), _batch(1, 2))
    assert writer.status().waiting_batches == 2


def test_going_back_forgets_what_waits_and_what_was_delivered(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1), _batch(1, 2))
    writer.close()
    setting.spill().forget_after(0)
    assert [one.batch_id for one in setting.spill().recover(9)] == [0]
    done = setting.spill()
    done.recover(9)
    done.remove(0)
    setting.spill().forget_after(-1)
    fresh = setting.spill()
    fresh.recover(9)
    assert fresh.delivered == -1


def test_a_full_folder_makes_the_job_wait_until_there_is_room(setting: Setting) -> None:
    setting.shop.go_away()
    size = SpillFolder.pack(0, ("v",), _batch(0, 1).table, 0.0).waiting.bytes
    writer = setting.spilling(max_bytes=2 * size + 100)
    _give(writer, _batch(0, 1), _batch(1, 2))
    third = threading.Thread(target=_give, args=(writer, _batch(2, 3)), daemon=True)
    third.start()
    third.join(0.5)
    assert third.is_alive()
    setting.shop.error = None
    third.join(60)
    assert not third.is_alive()
    writer.drain(60)
    assert setting.shop.order == [0, 1, 2]


def test_a_full_folder_does_not_keep_a_job_from_stopping(setting: Setting) -> None:
    setting.shop.go_away()
    size = SpillFolder.pack(0, ("v",), _batch(0, 1).table, 0.0).waiting.bytes
    writer = setting.spilling(max_bytes=size + 100)
    _give(writer, _batch(0, 1))
    setting.stopping.set()
    with pytest.raises(StoppedWaitingError, match="WR821"):
        writer.write(_batch(1, 2))


def test_a_batch_beyond_the_limit_stops_the_job(setting: Setting) -> None:
    setting.shop.go_away()
    with pytest.raises(JobError, match=r"WR823.*only 10 may wait"):
        setting.spilling(max_bytes=10).write(_batch(0, 1))


def test_rows_that_wait_for_too_long_stop_the_job(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling(max_age=60_000_000)
    _give(writer, _batch(0, 1))
    setting.now += 61
    with pytest.raises(JobError, match=r"WR824.*longer than 1m"):
        writer.write(_batch(1, 2))
    _until(lambda: [fault.code for fault in setting.faults] == ["WR824"])
    assert not setting.spill().is_empty(), "nothing is lost"


def test_an_end_with_rows_that_wait_is_a_failure(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1, 2))
    with pytest.raises(JobError, match=r"WR822.*2 rows still wait"):
        writer.drain(0.1)


def test_a_refusal_that_stays_stops_the_job_and_keeps_the_rows(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1))
    setting.shop.error = JobError("WR876", "a value does not fit its column")
    _until(lambda: [fault.code for fault in setting.faults] == ["WR876"])
    with pytest.raises(JobError, match="WR876"):
        writer.write(_batch(1, 2))
    assert not setting.spill().is_empty()


def test_rows_that_are_refused_later_stop_the_job(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    setting.shop.refuses = [Refused({"v": 1}, "too large")]
    _give(writer, _batch(0, 1))
    setting.shop.error = None
    _until(lambda: [fault.code for fault in setting.faults] == ["WR835"])
    assert "too large" in setting.faults[0].message


def test_any_other_failure_of_rows_that_waited_stops_the_job(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1))
    setting.shop.error = ValueError("no such table")
    _until(lambda: [fault.code for fault in setting.faults] == ["WR836"])
    assert not setting.spill().is_empty()


def test_a_refusal_at_the_first_try_is_the_jobs_own(setting: Setting) -> None:
    writer = setting.spilling()
    setting.shop.error = JobError("WR876", "a value does not fit its column")
    with pytest.raises(JobError, match="WR876"):
        writer.write(_batch(0, 1))
    assert setting.spill().is_empty()


def test_a_slow_write_is_left_behind_and_not_done_twice(setting: Setting) -> None:
    writer = setting.spilling(timeout=0.2)
    setting.shop.free.clear()
    assert [one.spilled for one in _give(writer, _batch(0, 1), _batch(1, 2))] == [1, 1]
    assert writer.status().state == SLOW
    setting.shop.free.set()
    writer.drain(60)
    assert (setting.shop.order, setting.shop.calls) == ([0, 1], 2)


def test_a_damaged_file_is_said_to_be(setting: Setting) -> None:
    setting.shop.go_away()
    writer = setting.spilling()
    _give(writer, _batch(0, 1))
    writer.close()
    (file,) = (setting.folder / "spill").glob("*.arrow")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(JobError, match="WR833"):
        setting.spilling(committed=0)


def test_rows_are_dropped_and_counted_by_reason(setting: Setting, caplog: pytest.LogCaptureFixture) -> None:
    writer = setting.dropping()
    setting.shop.go_away()
    assert [dict(one.unsent) for one in _give(writer, _batch(0, 1, 2), _batch(1, 3))] == [{"WR828": 2}, {"WR828": 1}]
    assert setting.shop.calls == 1, "a system that is away is left alone for a while"
    assert 'such as {"v": 1}' in caplog.text


def test_rows_of_a_slow_write_that_comes_through_were_not_dropped(setting: Setting) -> None:
    writer = setting.dropping(timeout=0.2)
    setting.shop.free.clear()
    assert [dict(one.unsent) for one in _give(writer, _batch(0, 1, 2), _batch(1, 3))] == [{"WR829": 2}, {"WR829": 1}]
    setting.shop.free.set()
    _until(lambda: not writer.sink.is_busy)
    assert [dict(one.unsent) for one in _give(writer, _batch(2, 4), _batch(3, 5))] == [{"WR829": -2}, {}]
    assert setting.shop.order == [0, 2, 3]


def test_rows_go_to_another_output_marked_and_go_there_again(setting: Setting) -> None:
    other = Shop()
    rule = OutageRule("failover", 30_000_000, other=OtherOutput("backup"))
    writer = setting.open(FailoverWriter(_write(rule), setting.shop, setting.place(), other, has_headers=False))
    setting.shop.go_away()
    assert writer.write(_batch(0, 1, 2)).failed_over == 2
    assert other.tables[0]["failover_from"].to_pylist() == ["out", "out"]
    setting.shop.error = None
    again = setting.open(FailoverWriter(_write(rule), setting.shop, setting.place(), other, has_headers=True))
    assert again.write(_batch(0, 1, 2)).failed_over == 2, "the batch runs again: it takes the way it took"
    assert other.tables[0]["_headers"].to_pylist()[0] == [("windrow-failover-from", "out")]
    assert again.write(_batch(1, 3)) == Written()
    assert (setting.shop.order, other.order) == ([1], [0])
    again.committed(1)
    assert setting.spill().went_elsewhere() == set()


def test_a_job_halts_when_its_output_was_away_for_long_enough(setting: Setting) -> None:
    writer = HaltingWriter(_write(OutageRule("halt", halt_after=300_000)), setting.shop, setting.place())
    setting.shop.go_away()
    with pytest.raises(JobError, match=r"WR825.*away for 0.3 s.*nobody answers"):
        writer.write(_batch(0, 1))
    assert setting.shop.calls > 1
    setting.shop.error = JobError("WR876", "a value does not fit its column")
    with pytest.raises(JobError, match="WR876"):
        writer.write(_batch(0, 1))


def test_a_job_starts_without_an_output_that_is_away(setting: Setting) -> None:
    setting.shop.go_away()
    assert setting.spilling().status().state == AWAY
    setting.shop.error = JobError("WR872", "there is no such table")
    with pytest.raises(JobError, match="WR872"):
        setting.spilling()
