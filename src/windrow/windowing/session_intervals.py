"""Who joins whom in sessions: bounds and members only, no values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.windowing.lateness import is_over


class Bounds(NamedTuple):
    """What makes rows of one group a session: at most ``gap`` apart, and less than ``most`` after its first."""

    gap: int
    most: int | None = None

    def end(self, first: int, last: int) -> int:
        return last + self.gap if self.most is None else min(last + self.gap, first + self.most)

    def takes(self, first: int, last: int, other_first: int, other_last: int) -> bool:
        """Whether a session takes what begins no earlier than it does. It takes it as a whole or not at all."""
        return other_first <= last + self.gap and (self.most is None or other_last < first + self.most)


class Part(NamedTuple):
    """A piece of a group's time that is not cut: a row, the rows of one moment, or a session that has closed."""

    first: int
    last: int
    is_held: bool


def cut(parts: Sequence[Part], bounds: Bounds, is_over: Callable[[int, bool], bool]) -> Iterator[tuple[int, int]]:
    """The sessions of one group as ranges of its parts, which stand in order of time.

    ``is_over`` is asked for the end of a session, and whether it has parts that were held. One that is over is not made any more: its
    first row came too late, and the others are put together without it. So some parts are in no range.
    """
    at, stop, last, is_held = 0, 0, 0, False
    while at < len(parts):
        first = parts[at].first
        if stop <= at:
            stop, last, is_held = at + 1, parts[at].last, parts[at].is_held
        while stop < len(parts) and bounds.takes(first, last, parts[stop].first, parts[stop].last):
            last, is_held, stop = max(last, parts[stop].last), is_held or parts[stop].is_held, stop + 1
        if is_over(bounds.end(first, last), is_held):
            # The range goes on from where it is: without its first row it can only reach further.
            at += 1
            continue
        yield at, stop
        at = stop


class SessionInterval(NamedTuple):
    """A session as it stands: its bounds, how often it has emitted, and the numbers of the partials it is made of.

    ``pieces`` are the numbers of the partials that it can be cut into, where there is a limit. ``largest`` is the row count of the
    largest session that it was made of when it last grew.
    """

    first: int
    last: int
    revision: int
    members: tuple[int, ...]
    rows: int = 1
    largest: int = 0
    emitted_at: int = 0
    is_dirty: bool = True
    pieces: tuple[int, ...] = ()


class Span(NamedTuple):
    """Where a partial stands, and how many rows it has."""

    first: int
    last: int
    rows: int


@dataclass
class SessionRules:
    """Takes rows of many groups in order and keeps each group's sessions, earliest first.

    A session that closed before ``closed_by`` stays as it is. ``watermark`` is the one by which a row is too late for all but what is held.
    """

    bounds: Bounds
    lateness: int
    include_late: bool
    closed_by: int
    watermark: int
    spans: dict[int, Span] = field(default_factory=dict)
    _held: dict[int, list[SessionInterval]] = field(default_factory=dict)

    def hold(self, group: int, run: SessionInterval) -> None:
        self._held.setdefault(group, []).append(run)
        self._held[group].sort()

    def left(self) -> list[SessionInterval]:
        """All sessions of all groups."""
        return [run for runs in self._held.values() for run in runs]

    def take(self, group: int, at: int, member: int, now: int) -> SessionInterval | None:
        """The session that a row forms or joins; None where it had closed for good."""
        self.spans[member] = Span(at, at, 1)
        own = SessionInterval(at, at, 0, (member,), emitted_at=now, pieces=(member,))
        held = [run._replace(largest=run.rows) for run in self._held.get(group, ())]
        runs = self._with(held, own) or self._cut_anew(held, own)
        grown = next(run for run in runs if member in run.members)
        is_alone = len(grown.members) == 1
        if is_over(self.end(grown), self.lateness, self.watermark if is_alone else self.closed_by):
            return self._include(group, member)
        self._held[group] = runs
        return grown

    def emit(self, group: int, session: SessionInterval, now: int) -> SessionInterval:
        """The session as it stands after an emission."""
        emitted = session._replace(revision=session.revision + 1, emitted_at=now, is_dirty=False)
        self._held[group] = [emitted if run is session else run for run in self._held[group]]
        return emitted

    def end(self, run: SessionInterval) -> int:
        return self.bounds.end(run.first, run.last)

    def _with(self, held: list[SessionInterval], own: SessionInterval) -> list[SessionInterval] | None:
        """A group's sessions with one more row, where that changes no session but the one before it. Else None."""
        place = bisect_right([run.first for run in held], own.first)
        before, rest = held[place - 1 : place], held[place:]
        if before and self._takes(before[0], own):
            own, place = self._joined(before[0], own), place - 1
        changes_next = rest and self.bounds.takes(own.first, own.last, rest[0].first, rest[0].first)
        return None if changes_next else [*held[:place], own, *rest]

    def _cut_anew(self, held: list[SessionInterval], own: SessionInterval) -> list[SessionInterval]:
        """With a limit, sessions that are open are cut from their pieces again. What they have emitted goes with the first piece."""
        parts = [own]
        for run in held:
            is_cut = self.bounds.most is not None and self.end(run) > self.closed_by
            parts.extend(self._pieces(run, own.emitted_at) if is_cut else [run])
        known = {run.first for run in (*held, own)}
        runs: list[SessionInterval] = []
        for part in sorted(parts):
            if runs and self._takes(runs[-1], part):
                runs[-1] = self._joined(runs[-1], part)
            else:
                # One that begins where none began has not been shown, though its rows may have been in another.
                runs.append(part._replace(is_dirty=part.is_dirty or part.first not in known))
        return runs

    def _pieces(self, run: SessionInterval, now: int) -> Iterator[SessionInterval]:
        for number in run.pieces:
            span = self.spans[number]
            piece = SessionInterval(span.first, span.last, 0, (number,), span.rows, run.largest, now, is_dirty=False, pieces=(number,))
            is_first = span.first == run.first
            yield piece._replace(revision=run.revision, emitted_at=run.emitted_at, is_dirty=run.is_dirty) if is_first else piece

    def _takes(self, run: SessionInterval, part: SessionInterval) -> bool:
        return self.bounds.takes(run.first, run.last, part.first, part.last)

    def _joined(self, run: SessionInterval, part: SessionInterval) -> SessionInterval:
        return SessionInterval(
            run.first,
            max(run.last, part.last),
            max(run.revision, part.revision),
            run.members + part.members,
            run.rows + part.rows,
            max(run.largest, part.largest),
            min(run.emitted_at, part.emitted_at),
            run.is_dirty or part.is_dirty,
            run.pieces + part.pieces,
        )

    def _include(self, group: int, member: int) -> SessionInterval | None:
        """Count a row into the group's earliest open session, if it has one."""
        runs = self._held.get(group, [])
        open_ones = [run for run in runs if self.end(run) > self.watermark]
        if not self.include_late or not open_ones:
            return None
        earliest = open_ones[0]
        self.spans[member] = Span(earliest.first, earliest.first, 1)
        grown = earliest._replace(
            members=(*earliest.members, member),
            rows=earliest.rows + 1,
            largest=earliest.rows,
            is_dirty=True,
            pieces=(*earliest.pieces, member),
        )
        self._held[group] = [grown if run is earliest else run for run in runs]
        return grown
