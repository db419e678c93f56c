"""From a folder and a clock to windows that are handed over once, in order, each made of the same files whenever it is read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from windrow.otap.covers import Cover, Covering
from windrow.otap.discovery import DataFile, Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.late import LateCounter, LinkFiles
from windrow.otap.layout import Base
from windrow.otap.links import LINKS
from windrow.otap.notes import FOOTERS, Ahead, LateRows, Notes, Plan
from windrow.otap.origins import ResourceIds
from windrow.otap.tables import timed_by
from windrow.otap.timing import Timing, busy_windows, count_busy, hand_over

LOG = logging.getLogger("windrow.otap")


@dataclass(frozen=True)
class Wanted:
    """What a receiver is to hand over. ``start`` is earliest, latest or a time in nanoseconds.

    ``is_ended``: what is there is all there will ever be, so every window is safe.
    """

    table: str
    timing: Timing
    rule: TimeRule
    ids: ResourceIds
    start: str | int = "earliest"
    windows_at_once: int = 1
    is_ended: bool = False


class Receiver:
    """``clock`` gives the time in nanoseconds; while nothing can have become safe, the folder is listed every ``look_every``.

    A position is the end of the last window handed over, or None before the first."""

    def __init__(self, base: Base, wanted: Wanted, notes: Notes, clock: Callable[[], int], look_every: int = 0) -> None:
        self._base = base
        self._wanted = wanted
        self._notes = notes
        self._clock = clock
        self._look_every = look_every
        self._looked_at: int | None = None
        self._seen = notes.seen()
        self._faults = notes.faults()
        self._late_count = sum(one.rows for one in notes.late())
        self._ahead = notes.ahead()
        self._counter = LateCounter(base, wanted.timing, wanted.rule)
        self._footers = FooterCache(notes.folder / FOOTERS)
        self._discovery = Discovery(base, self._footers, wanted.timing, wanted.rule)

    def advance(self, done: int | None) -> int | None:
        """Up to where the next batch goes; ``done`` itself where nothing more is safe yet."""
        now, timing = self._clock(), self._wanted.timing
        is_due = self._looked_at is None or now - self._looked_at >= self._look_every
        if not is_due and not self._wanted.is_ended and (done is None or timing.safe_until(now) <= done):
            return done
        self._looked_at = now
        files = self._files()
        ranges = [file.times for file in files if file.times is not None]
        begin = self._begin(ranges) if done is None else done
        if begin is None:
            return None
        if done is not None:
            self._note_late(files, self._links(), done)
        last = max((greatest for _, greatest in ranges), default=begin)
        safe = timing.window_at(last).end if self._wanted.is_ended else timing.safe_until(now)
        until = hand_over(timing, begin, safe, ranges, self._wanted.windows_at_once)
        self._note_ahead(until, safe, timing.window_at(last).end, ranges)
        return done if until <= begin else until

    def plan(self, done: int | None, until: int) -> tuple[Cover, ...]:
        """The files of the windows up to ``until``. Asked again, it gives the same, whatever has arrived since."""
        known = self._notes.plan(until)
        if known is not None:
            return known.covers
        start = done if done is not None else self._notes.begin()
        assert start is not None, "advance fixes where the first window starts"
        files = self._files()
        covering = Covering(self._discovery, self._wanted.table, self._wanted.ids)
        links = covering.files_of(LINKS) if self._wanted.table == LINKS else {}
        if done is not None or self._wanted.start == "earliest":
            # A file may have come since advance looked.
            self._note_late(files, links, start)
        ranges = [file.times for file in files if file.times is not None]
        windows = busy_windows(self._wanted.timing, start, until, ranges)
        covers = tuple(cover for window in windows for cover in covering.covers(files, window))
        # By now the tables that belong to the rows have been looked at, too.
        self._note_faults(files)
        self._notes.save_plan(Plan(start, until, covers))
        self._see(file.path for file in files if file.fault is None)
        self._see(file.path for own in links.values() for file, _ in own)
        return covers

    def _files(self) -> list[DataFile]:
        """All files of the table; one that cannot be used is noted once, and the others go on."""
        files = self._discovery.timed_files(timed_by(self._wanted.table))
        self._note_faults(files)
        return files

    def _note_faults(self, files: list[DataFile]) -> None:
        """What cannot be read, and what can be read by now."""
        now = {**self._footers.faults(), **{file.path: file.fault for file in files if file.fault is not None}}
        sound = {file.path for file in files if file.fault is None}
        mended = [path for path in self._faults if path not in now and (path in sound or self._footers.is_sound(path))]
        new = {path: fault for path, fault in now.items() if self._faults.get(path) != fault}
        for path, fault in new.items():
            LOG.warning("%s is left out: %s", path, fault)
        self._notes.add_faults({**new, **dict.fromkeys(mended, "")})
        self._faults = self._notes.faults() if new or mended else self._faults

    def _begin(self, ranges: list[tuple[int, int]]) -> int | None:
        """Where the first window starts; fixed when it is first known, so that a run that starts again starts there."""
        begin = self._notes.begin()
        if begin is not None:
            return begin
        timing, start = self._wanted.timing, self._wanted.start
        if start == "latest":
            begin = timing.safe_until(self._clock())
        elif isinstance(start, int):
            begin = timing.window_at(start).start
        elif ranges:
            begin = timing.window_at(min(least for least, _ in ranges)).start
        if begin is not None:
            self._notes.save_begin(begin)
        return begin

    def _note_ahead(self, until: int, safe: int, end: int, ranges: list[tuple[int, int]]) -> None:
        """What is there beyond the windows that are taken now, for people to look at."""
        ready = count_busy(self._wanted.timing, until, min(safe, end), ranges)
        ahead = Ahead(ready, count_busy(self._wanted.timing, until, end, ranges) - ready, self._late_count)
        if ahead != self._ahead:
            self._notes.save_ahead(ahead)
            self._ahead = ahead

    def _links(self) -> LinkFiles:
        """The files of links, for a stream of links."""
        return self._discovery.files_by_id(LINKS, "parent_id") if self._wanted.table == LINKS else {}

    def _note_late(self, files: list[DataFile], links: LinkFiles, done: int) -> None:
        """Rows of new files for windows that were handed over are rejected, and each is counted."""
        counter = self._counter
        judged = list(counter.of_links(files, links, self._seen, done) if links else counter.of_rows(files, self._seen, done))
        now = self._clock()
        late = [LateRows(path, window, rows, now) for path, counts in judged for window, rows in counts.items()]
        for one in late:
            window = (one.window.start, one.window.end)
            LOG.warning("%s: %d rows for a window that was handed over, from %d to %d", one.file, one.rows, *window)
        self._notes.add_late(late)
        self._late_count += sum(one.rows for one in late)
        self._see(path for path, _ in judged)

    def _see(self, paths: Iterable[str]) -> None:
        new = [path for path in paths if path not in self._seen]
        self._notes.add_seen(new)
        self._seen.update(new)
