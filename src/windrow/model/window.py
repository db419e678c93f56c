"""The WINDOW clause: a kind of window, watermark, triggers, and what happens to late rows. All lengths are microseconds."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model.expr import Expr, Node
from windrow.model.window_kinds import WindowKind

MILLI = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY


@dataclass(frozen=True)
class EventTime(Node):
    """ON EVENT_TIME(col); ``column`` is None where the stream's own event time is meant."""

    # A column as it is written; bound to an input, it may be a field of one.
    column: Expr | None = None


@dataclass(frozen=True)
class ProcessingTime(Node):
    """ON PROCESSING_TIME(): windows over the arrival clock."""


TimeDomain = EventTime | ProcessingTime


@dataclass(frozen=True)
class BoundedOutOfOrderness(Node):
    delay: int


@dataclass(frozen=True)
class AscendingTimestamps(Node):
    pass


@dataclass(frozen=True)
class Punctuated(Node):
    """Only rows that satisfy the predicate move the watermark."""

    predicate: Expr


WatermarkKind = BoundedOutOfOrderness | AscendingTimestamps | Punctuated


@dataclass(frozen=True)
class OnWatermark(Node):
    pass


@dataclass(frozen=True)
class EveryInterval(Node):
    interval: int


@dataclass(frozen=True)
class EveryRecords(Node):
    count: int


@dataclass(frozen=True)
class OnSessionEnd(Node):
    pass


@dataclass(frozen=True)
class WhenRow(Node):
    predicate: Expr


Trigger = OnWatermark | EveryInterval | EveryRecords | OnSessionEnd | WhenRow


@dataclass(frozen=True)
class DeadLetterLate(Node):
    """Late rows become dead letters; with ``into`` they form a stream that other statements read."""

    into: str | None = None


@dataclass(frozen=True)
class DropLate(Node):
    pass


@dataclass(frozen=True)
class IncludeInNext(Node):
    pass


@dataclass(frozen=True)
class UpdatePrevious(Node):
    pass


LateStrategy = DeadLetterLate | DropLate | IncludeInNext | UpdatePrevious


@dataclass(frozen=True)
class WindowClause(Node):
    kind: WindowKind
    time: TimeDomain = EventTime()
    watermark: WatermarkKind | None = None
    triggers: tuple[Trigger, ...] = ()
    allowed_lateness: int | None = None
    late: LateStrategy | None = None
