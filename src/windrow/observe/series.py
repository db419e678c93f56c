"""What metrics were: the last values of the series that rules ask for, in bounded memory."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families

# Labels with their values, sorted by name.
Labels = tuple[tuple[str, str], ...]
# A value that is older is no value any more, as in Prometheus.
STALE_AFTER = 300.0
# Of one series so many points are kept, however far back a rule looks.
_MOST_POINTS = 1500
_GONE = math.nan


class Series:
    """Times and values, oldest first. NaN marks where it went away. ``keeps_changes``: each new value counts, however soon it comes."""

    __slots__ = ("_keep", "_keeps_changes", "_spacing", "times", "values")

    def __init__(self, keep: float, *, keeps_changes: bool = False) -> None:
        self._keep = keep
        self._keeps_changes = keeps_changes
        self._spacing = keep / _MOST_POINTS
        self.times = array("d")
        self.values = array("d")

    def add(self, at: float, value: float) -> None:
        """The newest is always kept; of those closer together than can be kept so far back, the later one is."""
        if self.times and at <= self.times[-1]:
            return
        is_close = len(self.times) > 1 and at - self.times[-2] < self._spacing and not math.isnan(self.values[-1]) and not math.isnan(value)
        if is_close and (not self._keeps_changes or value == self.values[-1]):
            self.times[-1], self.values[-1] = at, value
            return
        self.times.append(at)
        self.values.append(value)
        # In pieces, so that not every point moves all others.
        if self.times[0] < at - 1.25 * self._keep:
            first = bisect_left(self.times, at - self._keep)
            del self.times[:first], self.values[:first]

    def last(self, at: float) -> float | None:
        place = bisect_right(self.times, at) - 1
        if place < 0 or self.times[place] <= at - STALE_AFTER or math.isnan(self.values[place]):
            return None
        return self.values[place]

    def between(self, begin: float, end: float) -> list[tuple[float, float]]:
        """After ``begin``, up to ``end``."""
        places = range(bisect_right(self.times, begin), bisect_right(self.times, end))
        return [(self.times[n], self.values[n]) for n in places if not math.isnan(self.values[n])]

    @property
    def is_gone(self) -> bool:
        return not self.times or math.isnan(self.values[-1])


class SeriesStore:
    """The series of one deployment; ``keep`` says which names are wanted, and for how many seconds."""

    def __init__(self, keep: Mapping[str, float]) -> None:
        self.keep = dict(keep)
        self._series: dict[str, dict[Labels, Series]] = {}
        self.began: float | None = None

    def want(self, keep: Mapping[str, float]) -> None:
        """The rules are others now."""
        if dict(keep) != self.keep:
            self.keep = dict(keep)
            self._series = {name: found for name, found in self._series.items() if name in keep}

    def take(self, at: float, samples: Iterable[tuple[str, Labels, float]]) -> None:
        """All there is at a time: a series that is not among them has gone away."""
        self.began = at if self.began is None else self.began
        seen: set[tuple[str, Labels]] = set()
        for name, labels, value in samples:
            if name in self.keep:
                seen.add((name, labels))
                self._of(name, labels).add(at, value)
        for name, known in self._series.items():
            for labels, series in list(known.items()):
                if (name, labels) in seen:
                    continue
                if not series.is_gone:
                    series.add(at, _GONE)
                elif series.times[-1] < at - self.keep[name]:
                    del known[labels]

    def note(self, name: str, labels: Labels, at: float, value: float) -> None:
        """One value of a time that may have passed already; later ones stay."""
        if name in self.keep:
            self._of(name, labels, keeps_changes=True).add(at, value)

    def named(self, name: str) -> Iterator[tuple[Labels, Series]]:
        yield from self._series.get(name, {}).items()

    @property
    def points(self) -> int:
        return sum(len(series.times) for known in self._series.values() for series in known.values())

    def _of(self, name: str, labels: Labels, *, keeps_changes: bool = False) -> Series:
        known = self._series.setdefault(name, {})
        if labels not in known:
            known[labels] = Series(max(self.keep[name], STALE_AFTER) + 60, keeps_changes=keeps_changes)
        return known[labels]


def read_exposition(text: str, wanted: Mapping[str, float]) -> Iterator[tuple[str, Labels, float]]:
    """The samples of the names that are wanted, of what a job answers at ``/metrics``.

    >>> list(read_exposition('# TYPE a gauge\\na{x="1"} 2\\nb 3\\n', {"a": 60.0}))
    [('a', (('x', '1'),), 2.0)]
    """
    # Most lines are of no interest, and the reader of Prometheus' own library is slow.
    lines = [line for line in text.splitlines() if line[:1] != "#" and line.partition("{")[0].partition(" ")[0] in wanted]
    for family in text_string_to_metric_families("\n".join([*lines, ""])):
        for sample in family.samples:
            yield sample.name, tuple(sorted(sample.labels.items())), float(sample.value)
