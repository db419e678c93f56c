"""What Spark's own checkpoint says: which batch was committed last, when a batch arrived, and which files were promised to none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from windrow.errors import JobError
from windrow.jobs.identity import checkpoint_of, unjudged_card
from windrow.spark.internals.checkpoint_log import DamagedEntryError, OffsetEntry, lists_files, need_version
from windrow.storage import Folder


class Checkpoint:
    """Of the present version, or of the one whose ``job.json`` is given."""

    def __init__(self, folder: Folder, card: Mapping[str, Any] | None = None) -> None:
        self._job = folder
        self._folder = folder.child(checkpoint_of(unjudged_card(folder) if card is None else card))
        self._commits = self._folder.child("commits")
        self._offsets = self._folder.child("offsets")
        # With its scheme, so that Spark takes it for the folder that we read.
        self.uri = self._folder.uri()
        # Of the batch that was asked for last: its time and its offsets are asked for one after the other.
        self._read: tuple[int, OffsetEntry] | None = None

    def last_committed(self) -> int:
        """-1 where no batch was."""
        return max(_numbers(self._commits), default=-1)

    def has_begun(self) -> bool:
        """Whether any batch was planned."""
        return self.last_planned() >= 0

    def last_planned(self) -> int:
        """The last batch that was begun: committed, or to be run again. -1 where none was."""
        return max(_numbers(self._offsets), default=-1)

    def restorable(self) -> set[int]:
        """Batches of which Spark still knows how far the sources had been read."""
        return _numbers(self._commits) & _numbers(self._offsets)

    def go_back_to(self, batch_id: int) -> None:
        """Make Spark believe that this batch was the last."""
        for log in (self._commits, self._offsets):
            for number in _numbers(log):
                if number > batch_id:
                    _remove(log, str(number))

    def write_for(self, place: str, before: Sequence[str], after: Sequence[str]) -> None:
        """Write the notes of a query that reads other sources, ``after`` in the place of ``before``, into a folder of their own.

        Spark knows sources by their place. One that is new has read nothing; ticks of the clock begin anew when the query starts.
        """
        new, last = self._job.child(place), self.last_committed()
        self._job.remove(place)
        new.make()
        # Spark looks at the batch that it goes on from, and at the one before.
        for number in (each for each in (last - 1, last) if each >= 0 and self.has_planned(each)):
            entry = self._entry(number).rearranged([before.index(name) if name in before else None for name in after])
            new.replace_atomically(f"offsets/{number}", entry.text.encode())
            new.replace_atomically(f"commits/{number}", self._commits.read(str(number)))
        if self._folder.exists("metadata"):
            new.replace_atomically("metadata", self._folder.read("metadata"))
        for number, name in enumerate(after):
            if name in before:
                log = self._folder.child(f"sources/{before.index(name)}")
                for file in log.names():
                    new.replace_atomically(f"sources/{number}/{file}", log.read(file))

    def has_planned(self, batch_id: int) -> bool:
        """Whether Spark has noted what this batch reads."""
        return batch_id in _numbers(self._offsets)

    def lend(self, job: Folder, last: int, batch_id: int) -> None:
        """Let a batch of another job read what this one has read up to its batch ``last``: what sources note of that goes with it."""
        other = Checkpoint(job)
        for place in self._folder.entries("sources"):
            log = self._folder.child(f"sources/{place}")
            for file in log.names():
                other._folder.replace_atomically(f"sources/{place}/{file}", log.read(file))
        if self._folder.exists("metadata"):
            other._folder.replace_atomically("metadata", self._folder.read("metadata"))
        other.plan_as(batch_id, self.planned(last))

    def planned(self, batch_id: int) -> bytes:
        """Spark's note of a batch, as it is."""
        return self._offsets.read(str(batch_id))

    def plan_as(self, batch_id: int, note: bytes) -> None:
        """Let a batch read what another note says."""
        self._offsets.replace_atomically(str(batch_id), note)

    def plan_empty(self, batch_id: int, now_ms: int) -> None:
        """Note a batch that reads nothing of any source: it ends where the one before it did."""
        text = self._entry(batch_id - 1).text_at(now_ms)
        _remove(self._offsets, str(batch_id))
        self._offsets.replace_atomically(str(batch_id), text.encode())

    def commit_empty(self, batch_id: int) -> None:
        before = self._commits.read(str(batch_id - 1))
        need_version(before.decode().partition("\n")[0], f"commits/{batch_id - 1}")
        _remove(self._commits, str(batch_id))
        self._commits.replace_atomically(str(batch_id), before)

    def arrival_of(self, batch_id: int) -> int:
        """Spark notes a batch's time in its offset log before the batch runs, so a batch that runs again sees the same."""
        with self._damage_told(batch_id):
            return self._entry(batch_id).arrival_ms * 1000

    def offsets_of(self, batch_id: int) -> list[dict[str, Any]]:
        """How far a batch reads each source, in the order of the query; empty for a source that Spark notes otherwise."""
        with self._damage_told(batch_id):
            return self._entry(batch_id).offsets

    def _entry(self, batch_id: int) -> OffsetEntry:
        """Spark writes the entry of a batch once, before the batch runs."""
        if self._read is None or self._read[0] != batch_id:
            with self._damage_told(batch_id):
                text = self._offsets.read(str(batch_id)).decode(errors="replace")
                self._read = batch_id, OffsetEntry.parse(text, f"offsets/{batch_id}")
        return self._read[1]

    def fit_ticks(self, sources: int, *, has_ticks: bool) -> None:
        """Spark counts the sources of a query in its notes. Ticks of the clock are the last of them, and come and go: with the text, and
        with a run that reads what is there and ends.
        """
        # Spark looks at the batch that it goes on from and at the one before.
        for number in sorted(_numbers(self._offsets))[-3:]:
            with self._damage_told(number):
                entry = OffsetEntry.parse(self._offsets.read(str(number)).decode(errors="replace"), f"offsets/{number}")
            fitted = entry.with_sources(sources, has_last=has_ticks)
            if fitted is not entry:
                _remove(self._offsets, str(number))
                self._offsets.replace_atomically(str(number), fitted.text.encode())
                if has_ticks:
                    # They begin anew: how long ago they began before says nothing.
                    self._folder.remove(f"sources/{sources}")
        self._read = None

    @contextmanager
    def _damage_told(self, batch_id: int) -> Iterator[None]:
        try:
            yield
        except DamagedEntryError:
            hint = "start with a new --state folder"
            raise JobError("WR813", f"the offset log of batch {batch_id} in {self._folder.path} is damaged", hint) from None

    def forget_unplanned_files(self, sources: int) -> None:
        """Spark's file source notes the files of its next batch before the batch itself is noted. A kill between the two would
        put them into one batch with those that came after, so a restart could cut the input differently: they are listed again.
        """
        batches = _numbers(self._offsets)
        planned = self.offsets_of(max(batches)) if batches else []
        for number in range(sources):
            offset = planned[number] if number < len(planned) else {}
            log = self._folder.child(f"sources/{number}")
            for name in log.names():
                entry = name.removesuffix(".compact")
                if entry.isdigit() and int(entry) > offset.get("logOffset", -1) and lists_files(log.read(name)):
                    _remove(log, name)


def _numbers(log: Folder) -> set[int]:
    return {int(name) for name in log.names() if name.isdigit()}


def _remove(log: Folder, name: str) -> None:
    log.remove(name)
    log.remove(f".{name}.crc")
