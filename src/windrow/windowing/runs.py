"""Who joins whom when the rows of sessions come one by one: bounds and members only, no values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Run(NamedTuple):
    """A session as it stands: its bounds, how often it has spoken, and the numbers of the partials it is made of.

    ``largest`` is the row count of the largest session that it was made of when it last grew.
    """

    first: int
    last: int
    revision: int
    members: tuple[int, ...]
    rows: int = 1
    largest: int = 0
    emitted_at: int = 0
    is_dirty: bool = True


@dataclass
class RunRules:
    """Takes rows of many groups in order and keeps each group's sessions."""

    gap: int
    max_length: int | None
    lateness: int
    include_late: bool
    watermark: int
    _held: dict[int, list[Run]] = field(default_factory=dict)

    def hold(self, group: int, run: Run) -> None:
        self._held.setdefault(group, []).append(run)

    def left(self) -> list[Run]:
        """All sessions of all groups."""
        return [run for runs in self._held.values() for run in runs]

    def take(self, group: int, at: int, member: int, now: int) -> Run | None:
        """The session that a row forms or joins; None where it had closed for good."""
        own = Run(at, at, 0, (member,), emitted_at=now)
        held = [run._replace(largest=run.rows) for run in self._held.get(group, ())]
        runs = self._joined([*held, own])
        grown = next(run for run in runs if member in run.members)
        if len(grown.members) == 1 and self.end(grown) + self.lateness <= self.watermark:
            return self._include(group, member)
        self._held[group] = runs
        return grown

    def speak(self, group: int, speaker: Run, now: int) -> Run:
        """The session as it stands after an emission."""
        said = speaker._replace(revision=speaker.revision + 1, emitted_at=now, is_dirty=False)
        self._held[group] = [said if run is speaker else run for run in self._held[group]]
        return said

    def end(self, run: Run) -> int:
        end = run.last + self.gap
        return end if self.max_length is None else min(end, run.first + self.max_length)

    def _joined(self, runs: list[Run]) -> list[Run]:
        joined: list[Run] = []
        for run in sorted(runs):
            before = joined[-1] if joined else None
            if before is None or run.first > before.last + self.gap or not self._fits(before, run):
                joined.append(run)
                continue
            joined[-1] = Run(
                before.first,
                max(before.last, run.last),
                max(before.revision, run.revision),
                before.members + run.members,
                before.rows + run.rows,
                max(before.largest, run.largest),
                min(before.emitted_at, run.emitted_at),
            )
        return joined

    def _fits(self, before: Run, run: Run) -> bool:
        """A session with a limit takes another only as a whole."""
        return self.max_length is None or run.last < before.first + self.max_length

    def _include(self, group: int, member: int) -> Run | None:
        runs = self._held.get(group, [])
        open_ones = [run for run in runs if self.end(run) > self.watermark]
        if not self.include_late or not open_ones:
            return None
        earliest = min(open_ones)
        grown = earliest._replace(members=(*earliest.members, member), rows=earliest.rows + 1, largest=earliest.rows, is_dirty=True)
        self._held[group] = [grown if run is earliest else run for run in runs]
        return grown
