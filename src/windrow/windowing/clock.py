"""The clock of one source: how far event time has come in each partition, and what watermark follows from it.

It comes from rows and from the arrival times handed in, never from the machine, so a replay sees the same clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from windrow.windowing.columns import FOREVER


@dataclass(frozen=True)
class Progress:
    """One partition: its greatest event time, and when a row of it last arrived."""

    greatest: int | None
    seen_at: int


@dataclass(frozen=True)
class Clock:
    """State of a source's clock after a batch.

    ``low`` is the least over the non-idle partitions before any delay is taken off; it never goes back.
    ``anchor`` is what ``low`` was while a partition was last active: idle time is added to it, however often the clock ticks.
    ``forced`` is a watermark set from outside (a case's marker, the end of a bounded input).
    """

    partitions: Mapping[int, Progress]
    low: int | None = None
    anchor: int | None = None
    forced: int | None = None
    now: int | None = None

    @staticmethod
    def start(partitions: Iterable[int], now: int) -> Clock:
        """A clock that knows its partitions from the start: one that has not sent a row yet holds the watermark back."""
        return Clock({p: Progress(None, now) for p in partitions}, now=now)

    def watermark(self, delay: int) -> int | None:
        """Up to which event time everything is taken to have arrived; None while unset.

        >>> Clock.start([0], now=0).advance({0: 12}, now=0).watermark(delay=5)
        7
        """
        own = None if self.low is None else self.low - delay
        if own is None or self.forced is None:
            return self.forced if own is None else own
        return max(own, self.forced)

    def advance(self, greatest: Mapping[int, int], now: int, idle_timeout: int | None = None) -> Clock:
        """The clock after a batch whose rows reached ``greatest`` in their partitions and that arrived at ``now``."""
        now = now if self.now is None else max(now, self.now)
        partitions = dict(self.partitions)
        for partition, at in greatest.items():
            before = partitions.get(partition)
            reached = at if before is None or before.greatest is None else max(before.greatest, at)
            partitions[partition] = Progress(reached, now)
        clock = replace(self, partitions=partitions, now=now)
        active = clock._active(idle_timeout)
        lowest = clock._least_reached(active) if active else clock._drifted(idle_timeout)
        low = self.low if lowest is None else lowest if self.low is None else max(lowest, self.low)
        return replace(clock, low=low, anchor=low if active else self.anchor)

    def force(self, watermark: int) -> Clock:
        return replace(self, forced=watermark if self.forced is None else max(self.forced, watermark))

    def end(self) -> Clock:
        """The end of a bounded input: every window closes."""
        return self.force(FOREVER)

    @property
    def is_ended(self) -> bool:
        return self.forced is not None and self.forced >= FOREVER

    def _active(self, idle_timeout: int | None) -> list[Progress]:
        assert self.now is not None
        return [p for p in self.partitions.values() if idle_timeout is None or self.now - p.seen_at < idle_timeout]

    def _least_reached(self, active: list[Progress]) -> int | None:
        """The least over partitions; one that has sent nothing yet leaves it unset."""
        reached = [p.greatest for p in active if p.greatest is not None]
        return min(reached) if reached and len(reached) == len(active) else None

    def _drifted(self, idle_timeout: int | None) -> int | None:
        """All partitions are idle: event time moves on with the arrival clock from when the last of them fell idle."""
        reached = [p for p in self.partitions.values() if p.greatest is not None]
        if not reached or idle_timeout is None or self.now is None:
            return None
        last_seen = max(p.seen_at for p in self.partitions.values())
        # Just before the last one fell idle, only the partitions seen last held the watermark back.
        held = [p.greatest for p in reached if p.seen_at == last_seen and p.greatest is not None]
        base = min(held) if held else max(p.greatest for p in reached if p.greatest is not None)
        base = base if self.anchor is None else max(base, self.anchor)
        return base + self.now - last_seen - idle_timeout

    def idle(self, idle_timeout: int | None) -> tuple[int, ...]:
        """The partitions that no longer hold the watermark back."""
        if idle_timeout is None or self.now is None:
            return ()
        return tuple(i for i, p in self.partitions.items() if self.now - p.seen_at >= idle_timeout)

    def slowest(self, idle_timeout: int | None) -> tuple[int, Progress] | None:
        """The partition that holds the watermark back: one that has sent nothing yet, else the one that has come least far.

        >>> Clock.start([0, 1], now=0).advance({0: 12}, now=0).slowest(None)
        (1, Progress(greatest=None, seen_at=0))
        """
        idle = set(self.idle(idle_timeout))
        active = {i: p for i, p in self.partitions.items() if i not in idle}
        if not active:
            return None
        least = min(active, key=lambda i: (-1, 0) if (reached := active[i].greatest) is None else (0, reached))
        return least, active[least]

    def to_json(self) -> dict[str, Any]:
        return {
            "partitions": {str(i): [p.greatest, p.seen_at] for i, p in self.partitions.items()},
            "low": self.low,
            "anchor": self.anchor,
            "forced": self.forced,
            "now": self.now,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Clock:
        partitions = {int(i): Progress(greatest, seen_at) for i, (greatest, seen_at) in data["partitions"].items()}
        return Clock(partitions, data["low"], data["anchor"], data["forced"], data["now"])
