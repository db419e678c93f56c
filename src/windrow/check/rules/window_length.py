"""WR242, WR243: lengths above zero, and triggers that their window can fire."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Node
from windrow.model.query import Select
from windrow.model.window import (
    BoundedOutOfOrderness,
    EveryInterval,
    EveryRecords,
    OnSessionEnd,
    WindowClause,
)
from windrow.model.window_kinds import MovingKind
from windrow.sql.durations import show_duration


def window_length(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        yield from _joins(block.select)
        window = block.select.window
        if window is not None:
            yield from _kind(window)
            yield from _times(window)
            yield from _triggers(window)


def _above_zero(what: str, length: int, node: Node, example: str) -> Iterator[Diagnostic]:
    if length <= 0:
        yield Diagnostic("WR242", f"{what} must be above zero", node.span, f"write {example}")


def _not_negative(what: str, length: int | None, node: Node, example: str) -> Iterator[Diagnostic]:
    if length is not None and length < 0:
        yield Diagnostic("WR242", f"{what} cannot be negative", node.span, f"write {example}")


def _joins(select: Select) -> Iterator[Diagnostic]:
    for join in select.joins:
        if join.within is not None and join.within.before + join.within.after < 0:
            yield Diagnostic("WR242", "WITHIN cannot be negative", join.within.span or join.span, "write WITHIN 10s")


def _kind(window: WindowClause) -> Iterator[Diagnostic]:
    node = window if window.kind.span is None else window.kind
    for fault in window.kind.faults(show_duration):
        yield Diagnostic("WR242", fault.message, node.span, fault.hint)


def _times(window: WindowClause) -> Iterator[Diagnostic]:
    yield from _not_negative("ALLOWED_LATENESS", window.allowed_lateness, window, "ALLOWED_LATENESS 10s")
    if isinstance(window.watermark, BoundedOutOfOrderness):
        node = window if window.watermark.span is None else window.watermark
        yield from _not_negative("the delay of a watermark", window.watermark.delay, node, "BOUNDED_OUT_OF_ORDERNESS(5s)")


def _triggers(window: WindowClause) -> Iterator[Diagnostic]:
    for trigger in window.triggers:
        node = window if trigger.span is None else trigger
        match trigger:
            case EveryInterval(interval=interval):
                yield from _above_zero("the interval of EVERY", interval, node, "EVERY 30s")
            case EveryRecords(count=count):
                yield from _above_zero("the count of EVERY", count, node, "EVERY 1000 RECORDS")
            case OnSessionEnd() if not isinstance(window.kind, MovingKind):
                hint = "write TRIGGER ON WATERMARK, or WINDOW SESSION(30s)"
                yield Diagnostic("WR243", "ON SESSION_END needs a SESSION window", node.span, hint)
