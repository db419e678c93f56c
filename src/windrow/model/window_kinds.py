"""The kinds of window, each one object: its arithmetic, its lateness, what is checked of it and what EXPLAIN says.

Everything that a kind means is stated here; only the parser and the formatter ask which kind it is. Others ask for its family:
``FixedKind`` (the clock makes the bounds), ``MovingKind`` (rows make them) or ``CountedKind`` (rows are counted).
To add a kind, write its class and name it in ``KINDS``. All lengths are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from windrow.model import row_protocol
from windrow.model.expr import Node

START, END = row_protocol.START, row_protocol.END
# Event time has no finer step.
INSTANT = 1

ShowDuration = Callable[[int], str]


class Arithmetic(Protocol):
    """What times are computed with: numbers, columns of a table, or SQL text. ``%`` and ``//`` round down, also below zero."""

    def __add__(self, other: int, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: int, /) -> Self: ...
    def __mod__(self, other: int, /) -> Self: ...
    def __floordiv__(self, other: int, /) -> Self: ...


Time = TypeVar("Time", bound=Arithmetic)


class Fault(NamedTuple):
    """What is wrong with the lengths of a window, what to write instead, and by which of them it is seen (None: by none alone)."""

    message: str
    hint: str
    length: int | None = None


class WindowKind(Node):
    """What every kind says of itself."""

    # Its name in SQL, and other names: those of its functions, TUMBLE_START() and the like, too.
    word: ClassVar[str]
    spellings: ClassVar[tuple[str, ...]] = ()
    # Its arguments that are lengths of time, in order, as the fields of the class are called; and in a sentence.
    lengths: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[str]
    example: ClassVar[str]
    # The bounds that tell windows of one group apart, the better one first.
    told_apart_by: ClassVar[tuple[str, ...]] = (START, END)
    # Whether the groups of one window come out together.
    closes_together: ClassVar[bool] = True
    # Whether the end of a window is the time of its last row; else it is the first instant after the window.
    holds_its_end: ClassVar[bool] = False

    @property
    def correction_span(self) -> int:
        """How long LATE_DATA_STRATEGY UPDATE_PREVIOUS keeps a window that has closed, unless ALLOWED_LATENESS says it."""
        raise NotImplementedError

    def faults(self, show: ShowDuration) -> Iterator[Fault]:
        """What is wrong with its lengths; the hints hold those that the user wrote."""
        raise NotImplementedError

    def describe(self, show: ShowDuration) -> str:
        """The line of EXPLAIN."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """The same as JSON."""
        raise NotImplementedError

    def last_instant(self, end: Time) -> Time:
        """The event time of what a window puts out: its last instant, so that a longer window counts it where it belongs.

        >>> Tumbling(60).last_instant(120), Rows(3).last_instant(120)
        (119, 120)
        """
        return end if self.holds_its_end else end - INSTANT

    def _above_zero(self, what: str, length: int) -> Iterator[Fault]:
        if length <= 0:
            yield Fault(f"the {what} of a {self.word} window must be above zero", f"write {self.example}")


class FixedKind(WindowKind):
    """Windows whose bounds the clock makes. They are made of slices, and a pane names each of them.

    Panes lie ``pane_step`` apart, and a window ends ``pane_length`` after its pane. Windows of most kinds are named by their start; the
    windows of a CUMULATE start together, so theirs is the start of their last step.
    """

    size: int
    offset: int

    @property
    def pane_step(self) -> int:
        raise NotImplementedError

    @property
    def pane_length(self) -> int:
        return self.size

    @property
    def cycle(self) -> int | None:
        """The length of stretches of time that no window reaches across; None where windows overlap all along."""
        return self.size

    @property
    def start_tells_end(self) -> bool:
        """Whether two windows with the same start are the same window."""
        return self.pane_length == self.size

    @property
    def overlaps(self) -> bool:
        """Whether a row can be in several windows."""
        return self.pane_step != self.size

    @property
    def slice(self) -> int:
        """Width of the pieces that every window is a whole number of.

        >>> Sliding(size=15, advance=10).slice, Cumulate(step=10, size=60).slice
        (5, 10)
        """
        return gcd(self.size, self.pane_step)

    @property
    def correction_span(self) -> int:
        return self.size

    def slice_start(self, at: Time) -> Time:
        """Start of the slice that holds a time. Rounds down before 1970 too.

        >>> Tumbling(10).slice_start(-1), Tumbling(10, offset=3).slice_start(2)
        (-10, -7)
        """
        return at - (at - self.offset) % self.slice

    def first_pane(self, at: Time) -> Time:
        """The earliest window that holds a time, or the slice that starts then."""
        raise NotImplementedError

    def last_pane(self, at: Time) -> Time:
        """The latest window that holds a time: once that has closed, nothing takes a row of that time any more."""
        raise NotImplementedError

    def start_of(self, pane: Time) -> Time:
        return pane

    def end_of(self, pane: Time) -> Time:
        return pane + self.pane_length

    def last_end(self, at: Time) -> Time:
        return self.end_of(self.last_pane(at))

    def panes(self, at: int) -> range:
        """Every window that holds a time, earliest first.

        >>> list(Sliding(size=10, advance=5).panes(12)), list(Cumulate(step=2, size=6).panes(9))
        ([5, 10], [8, 10])
        >>> list(Tumbling(10).panes(-1))   # before 1970 rounds down, not toward zero
        [-10]
        """
        return range(self.first_pane(at), self.last_pane(at) + 1, self.pane_step)

    def earliest_open_pane(self, watermark: Time) -> Time:
        """The first window that ends after a watermark.

        >>> Tumbling(10).earliest_open_pane(20), Sliding(size=10, advance=5).earliest_open_pane(21)
        (20, 15)
        """
        return self._on_grid(watermark + (self.pane_step - self.pane_length), self.pane_step)

    def of_one_slice(self, width: int) -> FixedKind:
        """Windows as wide as a slice, one after another, at the same offset."""
        return Tumbling(width, self.offset % width)

    def _on_grid(self, at: Time, step: int) -> Time:
        """Rounded down to a multiple of the step, moved by the offset."""
        return at - (at - self.offset) % step

    def _aligned(self, show: ShowDuration) -> str:
        return "aligned to the epoch in UTC" + (f" plus {show(self.offset)}" if self.offset else "")


@dataclass(frozen=True)
class Tumbling(FixedKind):
    """One window after another."""

    size: int
    offset: int = 0
    word = "TUMBLING"
    spellings = ("TUMBLE",)
    lengths = ("size",)
    takes = "one size"
    example = "TUMBLING(5m)"

    @property
    def pane_step(self) -> int:
        return self.size

    def first_pane(self, at: Time) -> Time:
        return self._on_grid(at, self.size)

    def last_pane(self, at: Time) -> Time:
        return self._on_grid(at, self.size)

    def faults(self, show: ShowDuration) -> Iterator[Fault]:  # noqa: ARG002  # nothing here is written in another order
        yield from self._above_zero("size", self.size)

    def describe(self, show: ShowDuration) -> str:
        """
        >>> Tumbling(60).describe(str)
        'tumbling: 60 long, one after another, aligned to the epoch in UTC'
        """
        return f"tumbling: {show(self.size)} long, one after another, {self._aligned(show)}"

    def facts(self) -> dict[str, Any]:
        return {"kind": "tumbling", "size_us": self.size, "offset_us": self.offset}


@dataclass(frozen=True)
class Sliding(FixedKind):
    """Windows of one size that begin every ``advance``."""

    size: int
    advance: int
    offset: int = 0
    word = "SLIDING"
    spellings = ("HOP", "HOPPING")
    lengths = ("size", "advance")
    takes = "a size and an advance"
    example = "SLIDING(10m, 1m)"

    @property
    def pane_step(self) -> int:
        return self.advance

    @property
    def cycle(self) -> int | None:
        return None if self.overlaps else self.size

    def first_pane(self, at: Time) -> Time:
        """
        >>> Sliding(size=7, advance=3).first_pane(7)      # the size need not be a multiple of the advance
        3
        """
        last = self.last_pane(at)
        # The earliest window that still holds the time starts after at - size.
        return last - (last - at + (self.size - 1)) // self.advance * self.advance

    def last_pane(self, at: Time) -> Time:
        return self._on_grid(at, self.advance)

    def faults(self, show: ShowDuration) -> Iterator[Fault]:
        yield from self._above_zero("size", self.size)
        yield from self._above_zero("advance", self.advance)
        if self.advance > self.size:
            hint = f"the size comes first: {self.word}({show(self.advance)}, {show(self.size)})"
            yield Fault("the advance of a sliding window must not be longer than its size", hint, 1)

    def describe(self, show: ShowDuration) -> str:
        return f"sliding: {show(self.size)} long, a new one every {show(self.advance)}, {self._aligned(show)}"

    def facts(self) -> dict[str, Any]:
        return {"kind": "sliding", "size_us": self.size, "advance_us": self.advance, "offset_us": self.offset}


@dataclass(frozen=True)
class Cumulate(FixedKind):
    """Windows that start together every ``size`` and end after each ``step``."""

    step: int
    size: int
    offset: int = 0
    word = "CUMULATE"
    lengths = ("step", "size")
    takes = "a step and a size"
    example = "CUMULATE(1m, 1h)"
    # They start together.
    told_apart_by = (END,)

    @property
    def pane_step(self) -> int:
        return self.step

    @property
    def pane_length(self) -> int:
        return self.step

    def first_pane(self, at: Time) -> Time:
        return self._on_grid(at, self.step)

    def last_pane(self, at: Time) -> Time:
        return self._on_grid(at, self.size) + (self.size - self.step)

    def start_of(self, pane: Time) -> Time:
        """
        >>> [(Cumulate(step=2, size=6).start_of(pane), Cumulate(step=2, size=6).end_of(pane)) for pane in (0, 2, 4, 6)]
        [(0, 2), (0, 4), (0, 6), (6, 8)]
        """
        return self._on_grid(pane, self.size)

    def faults(self, show: ShowDuration) -> Iterator[Fault]:
        yield from self._above_zero("step", self.step)
        yield from self._above_zero("size", self.size)
        if self.step > 0 and self.size > 0 and self.size % self.step:
            hint = f"write {self.word}({show(self.step)}, {show(self.size + -self.size % self.step)})"
            if self.step % self.size == 0:
                hint = f"the step comes first: {self.word}({show(self.size)}, {show(self.step)})"
            yield Fault("the size of a CUMULATE window must be a whole number of steps", hint, 1)

    def describe(self, show: ShowDuration) -> str:
        return f"cumulate: start together every {show(self.size)}, one ends after each {show(self.step)}, {self._aligned(show)}"

    def facts(self) -> dict[str, Any]:
        return {"kind": "cumulate", "step_us": self.step, "size_us": self.size, "offset_us": self.offset}


class MovingKind(WindowKind):
    """Windows whose bounds the rows of a group make: each row reaches ``gap`` beyond itself, and what overlaps is one window."""

    gap: int
    max_length: int | None

    @property
    def correction_span(self) -> int:
        return self.gap

    @property
    def own_length(self) -> int:
        """How long the window of a single row lasts."""
        return self.gap if self.max_length is None else min(self.gap, self.max_length)

    def slice_start(self, at: Time) -> Time:
        """Rows of a slice as wide as the gap are always of one window."""
        return at - at % self.gap


@dataclass(frozen=True)
class Session(MovingKind):
    """Rows of a group at most ``gap`` apart."""

    gap: int
    max_length: int | None = None
    word = "SESSION"
    lengths = ("gap",)
    takes = "one gap"
    example = "SESSION(30m)"

    def faults(self, show: ShowDuration) -> Iterator[Fault]:
        yield from self._above_zero("gap", self.gap)
        if self.max_length is not None and self.max_length < self.gap:
            hint = f"write SESSION({show(self.max_length)}, MAX {show(self.gap)})"
            yield Fault("MAX of a SESSION window is shorter than its gap", hint)

    def describe(self, show: ShowDuration) -> str:
        cut = "" if self.max_length is None else f", {show(self.max_length)} long at most"
        return f"session: rows of a group at most {show(self.gap)} apart{cut}"

    def facts(self) -> dict[str, Any]:
        return {"kind": "session", "gap_us": self.gap, "max_length_us": self.max_length}


class CountedKind(WindowKind):
    """Windows of so many rows of a group, in arrival order. Their bounds are the times of their rows."""

    count: int
    told_apart_by = ()
    closes_together = False
    holds_its_end = True

    @property
    def correction_span(self) -> int:
        return 0


@dataclass(frozen=True)
class Rows(CountedKind):
    """Closes every ``count`` rows of a group, in arrival order."""

    count: int
    word = "ROWS"
    takes = "a number of rows"
    example = "ROWS(100)"

    def faults(self, show: ShowDuration) -> Iterator[Fault]:  # noqa: ARG002  # it has no length of time
        yield from self._above_zero("count", self.count)

    def describe(self, show: ShowDuration) -> str:  # noqa: ARG002  # it has no length of time
        return f"rows: every {self.count} rows of a group, in arrival order"

    def facts(self) -> dict[str, Any]:
        return {"kind": "rows", "count": self.count}


# In the order in which messages list them.
KINDS: tuple[type[WindowKind], ...] = (Tumbling, Sliding, Cumulate, Session, Rows)
# Windows that hold a single instant.
ONE_INSTANT: FixedKind = Tumbling(INSTANT)
# Every name of every kind.
SPELLINGS: dict[str, type[WindowKind]] = {name: kind for kind in KINDS for name in (kind.word, *kind.spellings)}
# The first word of the functions that give the bounds of a window: TUMBLE_START() and its like. Kinds of counted rows have none.
BOUND_PREFIXES: tuple[str, ...] = tuple((kind.spellings or (kind.word,))[0].lower() for kind in KINDS if not issubclass(kind, CountedKind))
