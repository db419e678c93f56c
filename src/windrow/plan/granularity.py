"""'watermark.granularity' = 'row': which windows judge each row by the rows before it, and which sources must tell them."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.window import Session, Sliding, Tumbling
from windrow.plan.stages import Aggregate, Derive, Feed, Merge, Read, Stage


def judge_row_by_row(members: list[Stage]) -> list[Stage]:
    """Windows that ask for it, or whose sources do. Rows that come out of a join or of other windows are judged by their batch."""
    sources: dict[str, frozenset[str]] = {}
    for stage in members:
        match stage:
            case Read():
                sources[stage.name] = frozenset({stage.name})
            case Derive() | Merge() | Aggregate():
                found = [sources.get(name, frozenset()) for name in stage.inputs]
                sources[stage.name] = frozenset().union(*found) if all(found) and not isinstance(stage, Aggregate) else frozenset()
            case _:
                sources[stage.name] = frozenset()
    rows = {stage.name for stage in members if isinstance(stage, Read) and stage.clock.granularity == "row"}
    telling = set(rows)
    judged: list[Stage] = []
    for stage in members:
        behind = sources.get(stage.inputs[0], frozenset()) if isinstance(stage, Aggregate) else frozenset()
        if isinstance(stage, Aggregate) and behind and (stage.is_exact or behind & rows) and _can_be_late(stage):
            telling |= behind
            judged.append(_exact(stage))
        else:
            judged.append(replace(stage, is_exact=False) if isinstance(stage, Aggregate) else stage)
    return [_telling(stage) if isinstance(stage, Read) and stage.name in telling else stage for stage in judged]


def _can_be_late(stage: Aggregate) -> bool:
    return isinstance(stage.window, Tumbling | Sliding | Session) and not stage.on_arrival


def _exact(stage: Aggregate) -> Aggregate:
    """Rows of the same slice may be late for different windows, and a limit cuts sessions in the order of rows."""
    feed, reason = stage.feed, stage.reason
    if isinstance(stage.window, Sliding) and feed is Feed.SLICES:
        feed, reason = Feed.WINDOWS, "rows of one slice may be late for different windows"
    return replace(stage, is_exact=True, feed=feed, reason=reason)


def _telling(read: Read) -> Read:
    return replace(read, clock=replace(read.clock, granularity="row"))
