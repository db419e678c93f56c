"""Rules of time in a plan: where rows get their event time, how watermarks follow, and whose clock a window goes by."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model.expr import Expr
from windrow.model.policies import Granularity, LateAtSource, MissingTime


@dataclass(frozen=True)
class TimeRule:
    """Where a row's event time comes from, and what happens to a row without a usable one."""

    column: str | None = None
    format: str | None = None
    on_missing: MissingTime = MissingTime.DEAD_LETTER
    max_future: int = 0


@dataclass(frozen=True)
class ClockRule:
    """How a source's watermark follows from its rows."""

    delay: int = 0
    idle_timeout: int | None = None
    late_rows: LateAtSource = LateAtSource.PROCESS
    # By row where every row tells how far event time had come before it.
    granularity: Granularity = Granularity.BATCH


@dataclass(frozen=True)
class TimeSpec:
    """What the WINDOW clause says of time; what it leaves out is that of the source.

    ``event_time``: ON EVENT_TIME(e). ``on_arrival``: ON PROCESSING_TIME(). ``delay`` and ``punctuation``: WITH WATERMARK.
    """

    event_time: Expr | None = None
    on_arrival: bool = False
    delay: int | None = None
    punctuation: Expr | None = None

    @property
    def has_own_clock(self) -> bool:
        """Whether other rows or other times move the watermark than those of the source."""
        return self.punctuation is not None or self.event_time is not None

    @property
    def has_own_watermark(self) -> bool:
        return self.has_own_clock or self.delay is not None

    @property
    def is_of_source(self) -> bool:
        return not self.has_own_watermark and not self.on_arrival
