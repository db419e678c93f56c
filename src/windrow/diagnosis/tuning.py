"""Tuning curves: of the late rows that were seen, how many a longer delay or a longer lateness would have taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.model.window import MINUTE, SECOND


@dataclass(frozen=True)
class TuningPoint:
    """``extra`` more microseconds of delay or lateness would have taken ``saved`` of the ``total`` rows that came too late; so much more
    delay would also have had ``in_time`` of the ``corrected`` rows in time, that corrected a window.
    """

    extra: int
    saved: int
    total: int
    in_time: int = 0
    corrected: int = 0

    @property
    def share(self) -> float:
        """Of all late rows, those for which so much more delay would have changed something."""
        return (self.saved + self.in_time) / (self.total + self.corrected)


_NONE: Mapping[int, int] = {}
_SHARES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)


def tuning_curve(
    late_by: Mapping[int, int], corrected_by: Mapping[int, int] = _NONE, shares: tuple[float, ...] = _SHARES
) -> list[TuningPoint]:
    """The least extra length for each share of the late rows, without repeats: of those that came too late, set aside or dropped, and of
    those that were taken in as corrections.

    >>> [(point.extra, point.saved) for point in tuning_curve({1_000_000: 98, 47_000_000: 12}, shares=(0.5, 1.0))]
    [(1000001, 98), (47000001, 110)]
    >>> [(point.extra, point.saved, point.in_time) for point in tuning_curve({9: 1}, {2: 3}, shares=(0.5, 1.0))]
    [(3, 0, 3), (10, 1, 3)]
    """
    total, corrected = sum(late_by.values()), sum(corrected_by.values())
    points: dict[int, TuningPoint] = {}
    for share in shares if total + corrected else ():
        saved = in_time = 0
        for by in sorted({*late_by, *corrected_by}):
            saved, in_time = saved + late_by.get(by, 0), in_time + corrected_by.get(by, 0)
            if saved + in_time >= share * (total + corrected):
                # A row is taken when it is late by less than what is added.
                points.setdefault(by, TuningPoint(by + 1, saved, total, in_time, corrected))
                break
    return list(points.values())


def rounded_up(micros: int) -> int:
    """A length of time that a person would write.

    >>> from windrow.sql.durations import show_duration
    >>> show_duration(rounded_up(47_000_001)), show_duration(rounded_up(121_000_000)), show_duration(rounded_up(900))
    ('48s', '3m', '1ms')
    """
    unit = 1000 if micros < SECOND else SECOND if micros < 2 * MINUTE else MINUTE
    return -(-micros // unit) * unit
