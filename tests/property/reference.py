"""What windows mean, said as plainly as possible: rows one by one, lists and dictionaries, nothing shared with the engine.

A pane keeps every row it ever took, and values are computed from those rows when it speaks. Slow, and easy to believe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

FOREVER, NEVER = 1 << 61, -(1 << 61)

Mode = Literal["final", "changes", "per_batch", "trigger"]
Late = Literal["dead_letter", "drop", "include"]


@dataclass(frozen=True)
class FixedWindow:
    """``is_cumulative``: windows start together every ``size`` and end after each ``advance``."""

    size: int
    advance: int
    offset: int = 0
    is_cumulative: bool = False

    def bounds(self, at: int) -> list[tuple[int, int]]:
        """The windows that hold a time, found by looking."""
        if self.is_cumulative:
            start = next(s for s in range(at, at - self.size, -1) if (s - self.offset) % self.size == 0)
            return [(start, end) for end in range(start + self.advance, start + self.size + 1, self.advance) if end > at]
        starts = [s for s in range(at - self.size + 1, at + 1) if (s - self.offset) % self.advance == 0]
        return [(s, s + self.size) for s in starts]

    def next_bounds(self, watermark: int) -> list[tuple[int, int]]:
        """The window that closes next. Those of a cumulative window that close after it hold what it holds."""
        if self.is_cumulative:
            end = next(e for e in range(watermark + 1, watermark + self.advance + 1) if (e - self.offset) % self.advance == 0)
            return self.bounds(end - 1)
        start = next(s for s in range(watermark - self.size + 1, watermark + 1) if (s - self.offset) % self.advance == 0)
        return [(start, start + self.size)]


@dataclass(frozen=True)
class SessionWindow:
    gap: int
    most: int | None = None


@dataclass(frozen=True)
class CountWindow:
    count: int


@dataclass(frozen=True)
class Query:
    window: FixedWindow | SessionWindow | CountWindow | None
    mode: Mode = "final"
    is_grouped: bool = True
    delay: int = 0
    lateness: int = 0
    late: Late = "dead_letter"
    partitions: int = 1
    idle_timeout: int | None = None
    # Of mode "trigger": early emissions, and whether ON WATERMARK is one of the triggers.
    every_records: int | None = None
    when: bool = False
    interval: int | None = None
    on_watermark: bool = True
    # 'watermark.granularity' = 'row': each row is judged by the rows before it in its own partition.
    is_exact: bool = False

    @property
    def speaks_at_close(self) -> bool:
        return self.mode == "final" or (self.mode == "trigger" and self.on_watermark)


class Row(NamedTuple):
    key: str | None
    value: int | None
    at: int
    partition: int = 0
    when: bool = False


@dataclass(frozen=True)
class Batch:
    rows: tuple[Row, ...]
    now: int
    is_end: bool = False
    forced: int | None = None


class Emission(NamedTuple):
    key: str | None
    start: int
    end: int
    rows: int
    values: tuple[int | None, ...]
    kind: str
    revision: int


def values_of(rows: Sequence[Row]) -> tuple[int | None, ...]:
    """COUNT, SUM, MIN, MAX, FIRST and LAST of the value; rows stand in arrival order."""
    there = [row.value for row in rows if row.value is not None]
    if not there:
        return (0, None, None, None, None, None)
    return (len(there), sum(there), min(there), max(there), there[0], there[-1])


@dataclass(eq=False)
class Pane:
    """One group's window and everything it took, as (place in the whole input, row)."""

    key: str | None
    start: int
    end: int
    taken: list[tuple[int, Row]] = field(default_factory=list)
    revision: int = 0
    emitted_at: int = 0
    is_dirty: bool = False
    shows_span: bool = False  # ROWS(n): what it shows as bounds is the span of its rows

    @property
    def last(self) -> int:
        return max(row.at for _, row in self.taken)

    def speak(self, kind: str, now: int) -> Emission:
        self.revision, self.emitted_at, self.is_dirty = self.revision + 1, now, False
        rows = [row for _, row in sorted(self.taken, key=lambda place_and_row: place_and_row[0])]
        start, end = (min(row.at for row in rows), self.last) if self.shows_span else (self.start, self.end)
        return Emission(self.key, start, end, len(rows), values_of(rows), kind, self.revision)


def _time(arrived: tuple[int, Row]) -> int:
    return arrived[1].at


class ReferenceClock:
    def __init__(self, query: Query) -> None:
        self.query = query
        self.greatest: dict[int, int] = {}
        self.seen_at: dict[int, int] = {}
        self.low: int | None = None
        self.low_while_active: int | None = None
        self.forced: int | None = None

    def watermark(self) -> int:
        own = NEVER if self.low is None else self.low - self.query.delay
        return own if self.forced is None else max(own, self.forced)

    def take(self, batch: Batch) -> None:
        timeout = FOREVER if self.query.idle_timeout is None else self.query.idle_timeout
        for partition in range(self.query.partitions):
            self.seen_at.setdefault(partition, batch.now)
        for row in batch.rows:
            self.greatest[row.partition] = max(row.at, self.greatest.get(row.partition, row.at))
            self.seen_at[row.partition] = batch.now
        active = [p for p, seen in self.seen_at.items() if batch.now - seen < timeout]
        if active and all(p in self.greatest for p in active):
            self._raise_to(min(self.greatest[p] for p in active))
        if active:
            self.low_while_active = self.low
        elif self.greatest:
            self._drift(batch.now, timeout)
        if batch.forced is not None:
            self.forced = max(batch.forced, NEVER if self.forced is None else self.forced)
        if batch.is_end:
            self.forced = FOREVER

    def _raise_to(self, low: int) -> None:
        self.low = low if self.low is None else max(self.low, low)

    def _drift(self, now: int, timeout: int) -> None:
        """All silent: those heard last held the clock back until they fell silent too; from then on arrival time is added."""
        heard_last = max(self.seen_at.values())
        held_by = [self.greatest[p] for p, seen in self.seen_at.items() if seen == heard_last and p in self.greatest]
        at_that_moment = min(held_by) if held_by else max(self.greatest.values())
        if self.low_while_active is not None:
            at_that_moment = max(at_that_moment, self.low_while_active)
        self._raise_to(at_that_moment + now - (heard_last + timeout))


class Reference:
    """Takes batches; ``emissions`` and ``rejected`` are what came of them, in order."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.clock = ReferenceClock(query)
        self.panes: list[Pane] = []
        self.rejected: list[Row] = []
        self.place = 0

    def take(self, batch: Batch) -> list[Emission]:
        before = self.clock.watermark()
        self.clock.take(batch)
        after = self.clock.watermark()
        arrived = []
        for row in batch.rows:
            self.place += 1
            arrived.append((self.place, row._replace(key=row.key if self.query.is_grouped else None)))
        said = list(self._take_rows(arrived, before, batch.now))
        said.extend(self._speak_by_interval(after, batch.now))
        said.extend(self._close(before, after, batch.now))
        self.panes = [pane for pane in self.panes if pane.end + self._lateness() > after]
        return said

    def _lateness(self) -> int:
        return self.query.lateness if isinstance(self.query.window, FixedWindow | SessionWindow) else 0

    def _take_rows(self, arrived: list[tuple[int, Row]], watermark: int, now: int) -> Iterator[Emission]:
        match self.query.window:
            case SessionWindow():
                yield from self._take_into_sessions(arrived, watermark, now)
            case CountWindow(count=count):
                yield from self._take_counted(arrived, count, now)
            case _:
                yield from self._take_into_panes(arrived, watermark, now)

    # Fixed windows, and groups without a window -------------------------------------------------------------------------

    def _take_into_panes(self, arrived: list[tuple[int, Row]], watermark: int, now: int) -> Iterator[Emission]:
        query = self.query
        at_batch_end: list[Pane] = []
        for place, row in arrived:
            bounds = self._bounds(row, watermark)
            if not bounds:
                self.rejected.append(row)
            for start, end in bounds:
                pane = self._pane(row.key, start, end, now)
                pane.taken.append((place, row))
                pane.is_dirty = True
                is_late = end <= watermark
                if query.mode == "changes":
                    yield pane.speak("late" if is_late else "change", now)
                elif query.mode == "trigger" and not is_late and self._is_triggered(pane, row):
                    yield pane.speak("early", now)
                elif (query.mode == "per_batch" or is_late) and pane not in at_batch_end:
                    at_batch_end.append(pane)
        for pane in at_batch_end:
            yield pane.speak("late" if pane.end <= watermark else "change", now)

    def _is_triggered(self, pane: Pane, row: Row) -> bool:
        is_full = self.query.every_records is not None and len(pane.taken) % self.query.every_records == 0
        return is_full or (self.query.when and row.when)

    def _bounds(self, row: Row, watermark: int) -> list[tuple[int, int]]:
        """The windows that take a row."""
        window = self.query.window
        if window is None:
            return [(NEVER, FOREVER)]
        assert isinstance(window, FixedWindow)
        kept = [(start, end) for start, end in window.bounds(row.at) if end + self.query.lateness > watermark]
        return window.next_bounds(watermark) if not kept and self.query.late == "include" else kept

    def _pane(self, key: str | None, start: int, end: int, now: int) -> Pane:
        for pane in self.panes:
            if (pane.key, pane.start, pane.end) == (key, start, end):
                return pane
        self.panes.append(Pane(key, start, end, emitted_at=now))
        return self.panes[-1]

    def _speak_by_interval(self, after: int, now: int) -> Iterator[Emission]:
        if self.query.mode != "trigger" or self.query.interval is None:
            return
        for pane in self.panes:
            if pane.is_dirty and now - pane.emitted_at >= self.query.interval and pane.end > after:
                yield pane.speak("early", now)

    def _close(self, before: int, after: int, now: int) -> Iterator[Emission]:
        for pane in self.panes:
            if before < pane.end <= after:
                # What it has not said by now, it says no more.
                pane.is_dirty = False
                if self.query.speaks_at_close:
                    yield pane.speak("final", now)

    # Sessions -----------------------------------------------------------------------------------------------------------

    def _take_into_sessions(self, arrived: list[tuple[int, Row]], watermark: int, now: int) -> Iterator[Emission]:
        query = self.query
        by_row = query.mode == "changes" or (query.mode == "trigger" and (query.every_records is not None or query.when))
        for rows in [[one] for one in arrived] if by_row else [arrived]:
            before = {place: len(pane.taken) for pane in self.panes for place, _ in pane.taken}
            touched = self._merge_sessions(rows, watermark, now)
            for session in sorted(touched, key=lambda s: (s.end, s.start)):
                is_late = session.end <= watermark
                if query.mode in ("changes", "per_batch") or (is_late and query.mode == "final"):
                    yield session.speak("late" if is_late else "change", now)
                elif not is_late and by_row and self._session_is_triggered(session, rows[0], before):
                    yield session.speak("early", now)
        for session in self.panes:
            # With triggers, a closed session is corrected once in a batch, with all that the batch brought.
            if query.mode == "trigger" and session.is_dirty and session.end <= watermark:
                yield session.speak("late", now)

    def _session_is_triggered(self, session: Pane, arrived: tuple[int, Row], before: dict[int, int]) -> bool:
        """The number of rows passed a multiple that none of the sessions it was made of had reached."""
        most = max((before.get(place, 0) for place, _ in session.taken), default=0)
        every = self.query.every_records
        return (self.query.when and arrived[1].when) or (every is not None and len(session.taken) // every > most // every)

    def _merge_sessions(self, arrived: list[tuple[int, Row]], watermark: int, now: int) -> list[Pane]:
        """Put rows and held sessions in order of time and join neighbours; gives the sessions that took a row.

        A session that is over for good is not made any more: its first row came too late, and the others are joined without it.
        """
        late: list[tuple[int, Row]] = []
        while True:
            joined = self._join_sessions(arrived, watermark, now)
            gone = [min(s.taken, key=_time) for s in joined if s.end + self.query.lateness <= watermark]
            if not gone:
                break
            assert all(one in arrived for one in gone), "what is held was not over"
            late.extend(gone)
            arrived = [one for one in arrived if one not in gone]
        self.panes = joined
        fresh = {place for place, _ in arrived}
        touched = [s for s in joined if any(place in fresh for place, _ in s.taken)]
        for one in late:
            touched.extend(self._include(one, watermark, touched))
        return touched

    def _join_sessions(self, arrived: list[tuple[int, Row]], watermark: int, now: int) -> list[Pane]:
        """What is joined is whole sessions. With a limit, one that is open is cut anew from its rows: only what closed stays as it is."""
        parts = [self._single(one, now) for one in arrived]
        for pane in self.panes:
            parts.extend([pane] if self._stays(pane, watermark) else self._rows_of(pane, now))
        known = {(pane.key, pane.start) for pane in self.panes}
        joined: list[Pane] = []
        for part in sorted(parts, key=lambda s: (s.key is not None, s.key or "", s.start, s.last)):
            if not joined or not self._do_join(joined[-1], part):
                # One that begins where none began has not been shown, though its rows may have been in another.
                part.is_dirty |= (part.key, part.start) not in known
                joined.append(part)
                continue
            into = joined[-1]
            joined[-1] = Pane(
                into.key,
                into.start,
                0,
                into.taken + part.taken,
                max(into.revision, part.revision),
                min(into.emitted_at, part.emitted_at),
                into.is_dirty or part.is_dirty,
            )
            joined[-1].end = self._session_end(into.start, joined[-1].last)
        return joined

    def _stays(self, pane: Pane, watermark: int) -> bool:
        assert isinstance(self.query.window, SessionWindow)
        return self.query.window.most is None or pane.end <= watermark

    def _single(self, arrived: tuple[int, Row], now: int) -> Pane:
        at = arrived[1].at
        return Pane(arrived[1].key, at, self._session_end(at, at), [arrived], emitted_at=now, is_dirty=True)

    def _rows_of(self, pane: Pane, now: int) -> Iterator[Pane]:
        """What a session has said and when goes with its first row."""
        for one in pane.taken:
            single = self._single(one, now)
            single.is_dirty = False
            if single.start == pane.start:
                single.revision, single.emitted_at, single.is_dirty = pane.revision, pane.emitted_at, pane.is_dirty
            yield single

    def _include(self, late: tuple[int, Row], watermark: int, touched: list[Pane]) -> list[Pane]:
        """A row that came too late: into the group's earliest open session, else rejected."""
        place, row = late
        open_ones = [s for s in self.panes if s.key == row.key and s.end > watermark]
        if self.query.late != "include" or not open_ones:
            self.rejected.append(row)
            return []
        earliest = min(open_ones, key=lambda s: s.start)
        # Counted there, though its time does not stretch the session.
        earliest.is_dirty = True
        earliest.taken.append((place, row._replace(at=earliest.start)))
        return [] if earliest in touched else [earliest]

    def _do_join(self, one: Pane, other: Pane) -> bool:
        window = self.query.window
        assert isinstance(window, SessionWindow)
        is_near = one.key == other.key and other.start <= one.last + window.gap
        return is_near and (window.most is None or other.last < one.start + window.most)

    def _session_end(self, first: int, last: int) -> int:
        window = self.query.window
        assert isinstance(window, SessionWindow)
        return last + window.gap if window.most is None else min(last + window.gap, first + window.most)

    # ROWS(n) ------------------------------------------------------------------------------------------------------------

    def _take_counted(self, arrived: list[tuple[int, Row]], count: int, now: int) -> Iterator[Emission]:
        query = self.query
        touched: list[Pane] = []
        for place, row in arrived:
            pane = next((p for p in self.panes if p.key == row.key), None)
            if pane is None:
                # One that never fills closes when the input ends.
                pane = Pane(row.key, NEVER, FOREVER, emitted_at=now, shows_span=True)
                self.panes.append(pane)
            pane.taken.append((place, row))
            pane.is_dirty = True
            is_full = len(pane.taken) == count
            if query.mode == "changes":
                yield pane.speak("change", now)
            elif query.mode == "per_batch" and pane not in touched:
                touched.append(pane)
            elif is_full and query.speaks_at_close:
                yield pane.speak("final", now)
            elif query.mode == "trigger" and self._is_triggered(pane, row):
                yield pane.speak("early", now)
            if is_full:
                self.panes.remove(pane)
        for pane in touched:
            yield pane.speak("change", now)
