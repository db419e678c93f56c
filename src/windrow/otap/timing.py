"""Which windows are safe to read at a given time. Pure: the clock is handed in. All times are nanoseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


@dataclass(frozen=True, order=True)
class Window:
    """The rows with ``start`` <= time < ``end``."""

    start: int
    end: int

    def overlaps(self, least: int, greatest: int) -> bool:
        """Whether a file whose times lie from ``least`` to ``greatest``, both included, may hold a row of it.

        >>> Window(10, 20).overlaps(0, 10), Window(10, 20).overlaps(20, 30), Window(10, 20).overlaps(0, 9)
        (True, False, False)
        """
        return least < self.end and greatest >= self.start


@dataclass(frozen=True)
class Timing:
    """How long rows of a window may take to be in a file that can be seen.

    ``processing_delay`` is given to pipelines and uploads, ``max_clock_drift`` to clocks that are off, ``max_file_duration``
    to files that are still open. Windows start at multiples of ``window_granularity``.
    """

    processing_delay: int = 10 * MINUTE
    max_clock_drift: int = MINUTE
    max_file_duration: int = MINUTE
    window_granularity: int = MINUTE

    @property
    def safety_margin(self) -> int:
        """
        >>> Timing().safety_margin // SECOND
        720
        """
        return self.processing_delay + self.max_clock_drift + self.max_file_duration

    def fault(self) -> str | None:
        """Why these lengths make no sense together, or None.

        >>> Timing(window_granularity=SECOND - 1).fault()
        'Window granularity must be at least 1 second'
        """
        if self.window_granularity < SECOND:
            return "Window granularity must be at least 1 second"
        if min(self.processing_delay, self.max_clock_drift, self.max_file_duration) < 0:
            return "A length of time cannot be less than 0"
        if self.processing_delay < self.max_clock_drift + self.max_file_duration:
            return "Processing delay must be at least max clock drift plus max file duration"
        return None

    def window_at(self, time: int) -> Window:
        """The window that a row stamped ``time`` belongs to.

        >>> Timing().window_at(-1) == Window(-MINUTE, 0)
        True
        """
        start = time // self.window_granularity * self.window_granularity
        return Window(start, start + self.window_granularity)

    def safe_at(self, window: Window) -> int:
        """From when on every row of a window can be read."""
        return window.end + self.safety_margin

    def safe_until(self, now: int) -> int:
        """The end of the last window that is safe at ``now``; one that becomes safe at this very moment is."""
        return (now - self.safety_margin) // self.window_granularity * self.window_granularity


def windows_in(timing: Timing, start: int, end: int) -> Iterator[Window]:
    """Every window from ``start`` up to ``end``, in order. ``start`` need not be a border: the granularity may have changed."""
    while start < end:
        window = Window(start, min(timing.window_at(start).end, end))
        yield window
        start = window.end


def busy_windows(timing: Timing, start: int, end: int, ranges: Iterable[tuple[int, int]]) -> Iterator[Window]:
    """The windows from ``start`` up to ``end`` that a file may have rows for, in order; ``ranges`` are the times of the files."""
    spans = sorted((least, greatest) for least, greatest in ranges if greatest >= start and least < end)
    at = start
    while at < end:
        ahead = min((max(least, at) for least, greatest in spans if greatest >= at), default=end)
        if ahead >= end:
            return
        own = timing.window_at(ahead)
        window = Window(max(own.start, at), min(own.end, end))
        yield window
        at = window.end


def count_busy(timing: Timing, start: int, end: int, ranges: Iterable[tuple[int, int]]) -> int:
    """How many windows ``busy_windows`` would give, without going through them.

    >>> count_busy(Timing(), 0, 10 * MINUTE, [(0, MINUTE), (30 * SECOND, 40 * SECOND), (5 * MINUTE, 99 * MINUTE)])
    7
    """
    length = timing.window_granularity
    found, counted_to = 0, start // length
    for least, greatest in sorted(ranges):
        first, behind = max(least // length, counted_to), min(greatest // length, (end - 1) // length) + 1
        if behind > first:
            found += behind - first
            counted_to = behind
    return found


def hand_over(timing: Timing, done: int, safe: int, ranges: Iterable[tuple[int, int]], most: int) -> int:
    """Up to where the next batch goes: at most ``most`` windows that a file may have rows for, and the empty ones between them.

    ``done`` is the end of the last window that was handed over. Windows are never left out and never go back, so a long
    stretch without data costs one batch.
    """
    taken = list(islice(busy_windows(timing, done, safe, ranges), most))
    return taken[-1].end if len(taken) == most else max(done, safe)
