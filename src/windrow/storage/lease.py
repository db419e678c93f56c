"""One driver at a time: the lease of a folder, with an epoch that only rises.

The folder ``lease`` holds a file for each epoch. Whoever creates the file of the next epoch owns the folder; storage lets one succeed.
The owner rewrites its file every few seconds (a heartbeat). A driver that finds a lease takes the next epoch only when the owner has
released it, is known to be dead, or has not renewed it for the whole term. Times of day are never compared: on one machine both
read the same clock, and from another machine the contender watches the file for a full term of its own clock.

An owner that was away for longer (SIGSTOP, a sleeping laptop, storage that did not answer) has to win the next epoch like anybody else.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from windrow.errors import JobError, UsageError, WindrowError
from windrow.storage.errors import StorageError
from windrow.storage.filesystem import Folder
from windrow.storage.host import Host

FOLDER = "lease"
HELD, LOST, NOT_RENEWED = "WR805", "WR808", "WR809"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LeaseTerm:
    """``seconds`` without a sign of the owner, and another may take over."""

    seconds: float = 30.0

    @property
    def beat(self) -> float:
        return self.seconds / 6

    @property
    def owned(self) -> float:
        """So long after a renewal the owner counts on it: less than others wait, so that what it has begun to write is written by then."""
        return self.seconds - self.beat

    @property
    def watched(self) -> float:
        """So long another machine watches: more, because clocks do not run alike."""
        return self.seconds * 1.1


@dataclass(frozen=True)
class Record:
    """What the file of an epoch says. ``renewed`` is on the owner's clock; ``seconds`` is the term it counts on."""

    owner: str
    host: Host
    since: str
    seconds: float
    beat: int
    renewed: float
    is_released: bool = False

    def encode(self) -> bytes:
        return json.dumps({**vars(self), "host": self.host.to_json()}).encode()

    @staticmethod
    def decode(data: bytes) -> Record | None:
        """None for a file that was created and not yet filled."""
        try:
            found: dict[str, Any] = json.loads(data)
            return Record(**{**found, "host": Host.from_json(found["host"])})
        except (ValueError, TypeError, KeyError):
            return None

    @property
    def who(self) -> str:
        return f"process {self.host.pid} on {self.host.name}, since {self.since}"


class Lease:
    """Held from its construction to ``release``. ``on_lost`` is told, from the heartbeat's thread, that the job must stop."""

    def __init__(
        self,
        folder: Folder,
        job: str,
        term: LeaseTerm = LeaseTerm(),  # noqa: B008 (frozen)
        on_lost: Callable[[WindrowError], None] = lambda _: None,
        host: Host | None = None,
    ) -> None:
        self._folder = folder.child(FOLDER)
        self._place = folder.path
        self._job = job
        self._term = term
        self._on_lost = on_lost
        self._host = host or Host.here()
        self._owner = uuid.uuid4().hex
        self._since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._lock = threading.RLock()
        self._released = threading.Event()
        self._error: WindrowError | None = None
        self._beats = 0
        self.epoch = 0
        self._acquire()
        threading.Thread(target=self._keep, name=f"windrow-lease-{job}", daemon=True).start()

    @property
    def owner(self) -> str:
        """The name of this driver in its record."""
        return self._owner

    def check(self) -> None:
        """Before anything is written: raises where the folder is no longer ours."""
        with self._lock:
            if self._error is None:
                try:
                    self._make_sure()
                except JobError as error:
                    if not isinstance(error, StorageError):
                        self._error = error
                    raise
            if self._error is not None:
                raise self._error

    def release(self) -> None:
        """Let go, so that the next driver need not wait. A folder that is no longer ours stays as it is."""
        self._released.set()
        with self._lock, suppress(StorageError):
            if self._error is None and self._newest() == self.epoch:
                self._folder.replace_atomically(_name(self.epoch), replace(self._record(), is_released=True).encode())
            self._error = self._error or self._lost(None)

    # How it is won

    def _acquire(self) -> None:
        epoch = self._newest()
        if epoch:
            self._await_end_of(epoch)
        if not self._win(epoch + 1):
            raise self._refusal(self._read(self._newest()))
        for name in self._folder.names():
            if _epoch(name) < self.epoch:
                self._folder.remove(name)

    def _win(self, epoch: int) -> bool:
        started = self._host.clock()
        self._beats += 1
        if not self._folder.create_exclusively(_name(epoch), self._record(started).encode()):
            return False
        if self._newest() != epoch:
            # Meanwhile the next epochs came and went, and this one was already tidied away.
            self._folder.remove(_name(epoch))
            return False
        self.epoch, self._renewed = epoch, started
        return True

    def _await_end_of(self, epoch: int) -> None:
        """Returns when the owner of an epoch can no longer write; raises where it can."""
        first = self._raw(epoch)
        record = Record.decode(first or b"")
        # The owner counts on its own term, which may be longer than ours.
        term = self._term if record is None else LeaseTerm(max(self._term.seconds, record.seconds))
        if record is not None:
            if record.is_released or self._host.knows_dead(record.host):
                return
            if self._host.shares_clock_with(record.host):
                if self._host.clock() - record.renewed >= term.seconds:
                    return
                if self._host.knows_alive(record.host):
                    raise self._refusal(record)
        who = record.who if record is not None else "a driver that left no name"
        _log.warning("waiting up to %.0f s for the lease of job %s: %s may still run", term.watched, self._job, who)
        deadline = self._host.clock() + term.watched
        while self._host.clock() < deadline:
            self._released.wait(term.beat / 4)
            now = self._raw(epoch)
            if now != first or self._newest() != epoch:
                found = Record.decode(now or b"")
                if found is not None and found.is_released:
                    return
                raise self._refusal(found or record)

    # How it is kept

    def _keep(self) -> None:
        """The heartbeat. What fails is tried again for as long as the lease is good."""
        pause = self._term.beat
        while not self._released.wait(pause):
            try:
                with self._lock:
                    if self._error is not None or self._released.is_set():
                        return
                    self._renew()
                pause = self._term.beat
            except StorageError as error:
                pause = self._term.beat / 5
                if self._host.clock() - self._renewed >= self._term.owned:
                    self._give_up(self._not_renewed(error))
                    return
            except WindrowError as error:
                self._give_up(error)
                return

    def _give_up(self, error: WindrowError) -> None:
        with self._lock:
            self._error = self._error or error
        self._on_lost(error)

    def _renew(self) -> None:
        started = self._host.clock()
        self._make_sure()
        if self._renewed < started:
            self._beats += 1
            # A heartbeat is for those who watch now: it need not survive a crash.
            self._folder.replace_atomically(_name(self.epoch), self._record(started).encode(), durable=False)
            self._renewed = started

    def _make_sure(self) -> None:
        if self._newest() != self.epoch:
            raise self._lost(self._read(self._newest()))
        away = self._host.clock() - self._renewed
        if away >= self._term.owned and not self._win(self.epoch + 1):
            raise self._lost(self._read(self._newest()))

    def _newest(self) -> int:
        return max((_epoch(name) for name in self._folder.names()), default=0)

    def _raw(self, epoch: int) -> bytes | None:
        """None where it is gone."""
        return self._folder.read(_name(epoch)) if _name(epoch) in self._folder.names() else None

    def _read(self, epoch: int) -> Record | None:
        with suppress(StorageError):
            return Record.decode(self._raw(epoch) or b"")
        return None

    def _record(self, renewed: float | None = None) -> Record:
        at = self._host.clock() if renewed is None else renewed
        return Record(self._owner, self._host, self._since, self._term.seconds, self._beats, at)

    # What is said

    def _refusal(self, holder: Record | None) -> UsageError:
        who = "another process" if holder is None else holder.who
        return UsageError(
            HELD,
            f"job {self._job} is running already: {who} holds its state in {self._place}",
            "stop that one first, or run with another --state folder",
        )

    def _lost(self, holder: Record | None) -> JobError:
        who = "another driver" if holder is None else holder.who
        return JobError(
            LOST,
            f"job {self._job} stops before it writes: {who} has taken over its state in {self._place}",
            "this driver was away for longer than state.lease.seconds; nothing is lost, the other one goes on with the job",
        )

    def _not_renewed(self, cause: StorageError) -> JobError:
        return JobError(
            NOT_RENEWED,
            f"job {self._job} stops: its lease in {self._place} could not be renewed for {self._term.owned:.0f} s ({cause.reason})",
            "mend the file system of the state folder, then run again: the job goes on where it was",
        )


def holder_of(folder: Folder, host: Host | None = None) -> Record | None:
    """Who holds a folder now, as far as can be seen from here; None where nobody does. Takes nothing and waits for nobody.

    A driver on another machine counts as alive until it lets go: clocks of two machines are never compared.
    """
    leases, here = folder.child(FOLDER), host or Host.here()
    newest = max((_epoch(name) for name in leases.names()), default=0)
    try:
        record = Record.decode(leases.read(_name(newest))) if newest else None
    except StorageError:
        return None
    if record is None or record.is_released or here.knows_dead(record.host):
        return None
    is_over = here.shares_clock_with(record.host) and here.clock() - record.renewed >= record.seconds
    return None if is_over else record


def _name(epoch: int) -> str:
    return f"epoch-{epoch:010d}.json"


def _epoch(name: str) -> int:
    """
    >>> _epoch("epoch-0000000012.json"), _epoch("note.txt")
    (12, 0)
    """
    digits = name.removeprefix("epoch-").removesuffix(".json")
    return int(digits) if digits.isdigit() and name == _name(int(digits)) else 0
