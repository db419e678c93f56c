"""How often values fell between bounds, as histograms show it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

# Seconds, from a call that takes a moment to a batch that takes minutes.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Seconds between an event and its row in an output: windows and their delays are among them.
LATENCIES = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 21600.0, 86400.0)
COUNTS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0, 10_000_000.0)


@dataclass
class Distribution:
    """``counts`` has a number for each bound, of values up to it and beyond the one before, and one for what lies beyond them all."""

    bounds: Sequence[float] = SECONDS
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def take(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def take_many(self, counts: Iterable[int], total: float) -> None:
        """Values that were counted elsewhere, by the same bounds."""
        self.counts = [own + more for own, more in zip(self.counts, counts, strict=True)]
        self.total += total

    def copy(self) -> Distribution:
        return replace(self, counts=list(self.counts))

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def cumulative(self) -> list[tuple[str, float]]:
        """How many values are at most as large as each bound.

        >>> own = Distribution((1.0, 5.0)); own.take(0.5); own.take(3); own.take(9)
        >>> own.cumulative
        [('1.0', 1), ('5.0', 2), ('+Inf', 3)]
        """
        return list(zip([*map(str, self.bounds), "+Inf"], accumulate(self.counts), strict=True))
