"""Tuning curves: of the late rows that were seen, how many a longer delay or a longer lateness would have taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.model.window import MINUTE, SECOND


@dataclass(frozen=True)
class TuningPoint:
    """``extra`` more microseconds of delay or lateness would have taken ``saved`` of the late rows."""

    extra: int
    saved: int
    total: int

    @property
    def share(self) -> float:
        return self.saved / self.total


def tuning_curve(late_by: Mapping[int, int], shares: tuple[float, ...] = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)) -> list[TuningPoint]:
    """The least extra length that takes each share of the late rows, without repeats.

    >>> [(point.extra, point.saved) for point in tuning_curve({1_000_000: 98, 47_000_000: 12}, (0.5, 1.0))]
    [(1000001, 98), (47000001, 110)]
    """
    total = sum(late_by.values())
    points: dict[int, TuningPoint] = {}
    for share in shares if total else ():
        saved = 0
        for by, count in sorted(late_by.items()):
            saved += count
            if saved >= share * total:
                # A row is taken when it is late by less than what is added.
                points.setdefault(by, TuningPoint(by + 1, saved, total))
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
