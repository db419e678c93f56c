"""What the lease promises on every file system. A module of tests subclasses this and gives the fixtures ``folder`` and ``reach``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from windrow.errors import UsageError, WindrowError
from windrow.storage import Folder, StorageError
from windrow.storage.host import Host
from windrow.storage.lease import Lease, LeaseTerm

TERM = LeaseTerm(2.0)
# For an owner that must keep it though a write takes a second on a busy machine.
ROOMY = LeaseTerm(9.0)
SLOW = LeaseTerm(3600.0)


@dataclass(frozen=True)
class Elsewhere(Host):
    """Another machine, whose clock shows something else altogether."""

    skew: float = 0.0

    def clock(self) -> float:
        return super().clock() + self.skew


def elsewhere(skew: float = 0.0) -> Elsewhere:
    return Elsewhere("elsewhere", 1, "another boot", "pid:[1]", "1", skew)


def until(is_so: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _beat(folder: Folder) -> int:
    newest = folder.child("lease").names()[-1]
    return int(json.loads(folder.child("lease").read(newest))["beat"])


class LeaseContract:
    @pytest.fixture
    def folder(self) -> Folder:
        raise NotImplementedError

    @pytest.fixture
    def reach(self) -> list[str]:
        """The arguments by which another process opens the folder: its address, and settings of Spark's as JSON."""
        raise NotImplementedError

    def test_a_second_driver_is_refused(self, folder: Folder) -> None:
        lease = Lease(folder, "job", SLOW)
        with pytest.raises(UsageError, match=f"process {os.getpid()} on ") as found:
            Lease(folder, "job", SLOW)
        assert found.value.code == "WR805"
        lease.check()
        lease.release()

    def test_a_lease_that_was_released_is_free_at_once(self, folder: Folder) -> None:
        first = Lease(folder, "job", SLOW)
        first.release()
        second = Lease(folder, "job", SLOW, host=elsewhere())
        assert second.epoch == first.epoch + 1
        second.release()

    def test_of_many_drivers_one_gets_it(self, folder: Folder) -> None:
        Lease(folder, "job", SLOW).release()
        refused: list[str] = []

        def start(_: int) -> Lease | None:
            try:
                return Lease(folder, "job", SLOW)
            except UsageError as error:
                refused.append(error.code)
                return None

        with ThreadPoolExecutor(4) as pool:
            got = [lease for lease in pool.map(start, range(4)) if lease is not None]
        assert len(got) == 1
        assert refused == ["WR805"] * 3
        got[0].check()
        got[0].release()

    def test_the_owner_renews_it(self, folder: Folder) -> None:
        lease = Lease(folder, "job", ROOMY)
        before = _beat(folder)
        assert until(lambda: _beat(folder) > before + 1)
        assert lease.epoch == 1
        lease.check()
        lease.release()

    @pytest.mark.parametrize("skew", [-86_400.0, 0.0, 86_400.0])
    def test_a_skewed_clock_does_not_make_two_owners(self, folder: Folder, skew: float) -> None:
        """Another machine watches whether the owner renews; what any clock shows does not matter."""
        lease = Lease(folder, "job", ROOMY)
        with pytest.raises(UsageError, match="WR805"):
            Lease(folder, "job", ROOMY, host=elsewhere(skew))
        lease.check()
        lease.release()

    def test_a_longer_term_of_the_owner_is_respected(self, folder: Folder) -> None:
        lease = Lease(folder, "job", ROOMY)
        with pytest.raises(UsageError, match="WR805"):
            Lease(folder, "job", LeaseTerm(0.2), host=elsewhere())
        lease.release()

    def test_an_owner_that_is_silent_elsewhere_is_followed_after_a_full_term(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Lease, "_keep", lambda self: None)
        silent = Lease(folder, "job", TERM, host=elsewhere(skew=1e6))
        started = time.monotonic()
        follower = Lease(folder, "job", TERM)
        assert time.monotonic() - started >= TERM.seconds
        assert follower.epoch == silent.epoch + 1
        with pytest.raises(WindrowError, match="WR808"):
            silent.check()
        follower.check()

    def test_only_the_owner_releases_it(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Lease, "_keep", lambda self: None)
        old = Lease(folder, "job", LeaseTerm(0.3), host=elsewhere())
        new = Lease(folder, "job", LeaseTerm(0.3))
        old.release()
        old.release()
        assert folder.child("lease").names() == [f"epoch-{new.epoch:010d}.json"]
        new.release()
        with pytest.raises(WindrowError, match="WR808"):
            new.check()

    def test_an_owner_that_was_away_wins_it_again_if_nobody_came(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Lease, "_keep", lambda self: None)
        lease = Lease(folder, "job", LeaseTerm(0.05))
        first = lease.epoch
        assert until(lambda: lease._host.clock() - lease._renewed > 0.1)
        lease.check()
        assert lease.epoch == first + 1

    def test_a_record_that_was_never_filled_is_waited_for(self, folder: Folder) -> None:
        folder.create_exclusively("lease/epoch-0000000004.json", b"")
        lease = Lease(folder, "job", LeaseTerm(0.2))
        assert lease.epoch == 5
        lease.release()

    def test_a_failing_heartbeat_is_tried_again(self, folder: Folder) -> None:
        lease = Lease(folder, "job", ROOMY)
        failing = FailingFolder(lease)
        failing.fail_for(3)
        assert until(lambda: failing.failed == 3 and not failing.is_failing)
        before = _beat(folder)
        assert until(lambda: _beat(folder) > before)
        lease.check()
        lease.release()

    def test_a_heartbeat_that_fails_for_the_whole_term_stops_the_job(self, folder: Folder) -> None:
        told: list[WindrowError] = []
        lease = Lease(folder, "job", LeaseTerm(1.0), told.append)
        FailingFolder(lease).fail_for(1_000_000)
        assert until(lambda: bool(told))
        assert told[0].code == "WR809"
        assert "the disk is gone" in told[0].message
        with pytest.raises(WindrowError, match="WR809"):
            lease.check()

    def test_a_dead_driver_of_this_machine_is_followed_at_once(self, folder: Folder, reach: list[str]) -> None:
        with holder(reach, SLOW) as other:
            os.killpg(other.process.pid, signal.SIGKILL)
            other.process.wait()
            lease = Lease(folder, "job", SLOW)
            assert lease.epoch == other.epoch + 1
            lease.release()

    def test_a_driver_that_was_stopped_for_longer_finds_out_before_it_writes(self, folder: Folder, reach: list[str]) -> None:
        with holder(reach, TERM) as other:
            assert other.ask("write before") == "written"
            os.killpg(other.process.pid, signal.SIGSTOP)
            taken = threading.Event()
            lease = self._follow(folder, taken)
            assert lease.epoch == other.epoch + 1
            os.killpg(other.process.pid, signal.SIGCONT)
            assert other.ask("write after") == "WR808"
            assert folder.exists("before")
            assert not folder.exists("after")
            lease.check()
            lease.release()

    def _follow(self, folder: Folder, taken: threading.Event) -> Lease:
        """Refused while the other one's term runs, then not."""
        found: list[Lease] = []

        def is_taken() -> bool:
            try:
                found.append(Lease(folder, "job", TERM))
                taken.set()
            except UsageError as error:
                if error.code != "WR805":
                    raise
            return taken.is_set()

        assert until(is_taken)
        return found[0]


class FailingFolder:
    """Makes the writes of a lease's own folder fail for a while, as a full or unreachable disk does."""

    def __init__(self, lease: Lease) -> None:
        self.failed = 0
        self._left = 0
        inside = lease._folder
        replace, create = inside.replace_atomically, inside.create_exclusively

        def replace_atomically(name: str, data: bytes, *, durable: bool = True) -> None:
            self._meet()
            replace(name, data, durable=durable)

        def create_exclusively(name: str, data: bytes) -> bool:
            self._meet()
            return create(name, data)

        inside.replace_atomically = replace_atomically  # type: ignore[method-assign]
        inside.create_exclusively = create_exclusively  # type: ignore[method-assign]

    def _meet(self) -> None:
        if self._left:
            self._left -= 1
            self.failed += 1
            raise StorageError("WR802", "cannot write: the disk is gone", reason="the disk is gone")

    @property
    def is_failing(self) -> bool:
        return self._left > 0

    def fail_for(self, writes: int) -> None:
        self._left = writes


@dataclass
class Holder:
    process: subprocess.Popen[str]
    epoch: int

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def holder(reach: list[str], term: LeaseTerm) -> Iterator[Holder]:
    """Another process that holds the lease of a folder and writes to it when it is told to."""
    script = Path(__file__).with_name("lease_holder.py")
    command = [sys.executable, str(script), str(term.seconds), *reach]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("epoch "), said
        yield Holder(process, int(said.split()[1]))
    finally:
        for number in (signal.SIGCONT, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
        process.wait()
