"""How old the rows are that a job reads, by the clock of its own looks: when its place in a source was the end of that source."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

Offsets = Mapping[str, Mapping[str, int]]
# A look a second for a quarter of an hour; those of longer ago are thinned out.
_MOST_LOOKS = 900


@dataclass
class SourceEnds:
    """The ends of one source as they were seen, oldest first, from the one on that the job has not passed yet."""

    _seen: deque[tuple[float, Offsets]] = field(default_factory=deque)

    def look(self, at: float, read: Offsets, end: Offsets) -> float:
        """Seconds since the place that is read up to was the end. Of a job that has never been there in this run, at least so many.

        >>> ends, seen = SourceEnds(), [(0.0, 5, 5), (9.5, 6, 9), (20.5, 8, 12), (30.0, 12, 12)]
        >>> [ends.look(at, {"t": {"0": read}}, {"t": {"0": end}}) for at, read, end in seen]
        [0.0, 9.5, 20.5, 0.0]
        >>> ends.look(40.0, {"t": {"0": 13}}, {"t": {"0": 20}})
        10.0
        """
        if _covers(read, end):
            self._seen.clear()
            self._seen.append((at, end))
            return 0.0
        while len(self._seen) > 1 and _covers(read, self._seen[1][1]):
            self._seen.popleft()
        self._seen.append((at, end))
        if len(self._seen) > _MOST_LOOKS:
            self._seen = deque([*list(self._seen)[:-1:2], self._seen[-1]])
        return at - self._seen[0][0]


def _covers(read: Offsets, end: Offsets) -> bool:
    return all(read.get(topic, {}).get(partition, 0) >= latest for topic, own in end.items() for partition, latest in own.items())
