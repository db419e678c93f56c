"""'watermark.granularity' = 'row': which windows judge each row by the rows before it, and which sources must tell them."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.policies import Granularity
from windrow.model.window_kinds import CountedKind, FixedKind
from windrow.plan.stages import Aggregate, Expect, FilterProject, PartialShape, Read, Stage, UnionAll


def judge_row_by_row(members: list[Stage]) -> list[Stage]:
    """Windows that ask for it, or whose sources do. Rows that come out of a join or of other windows are judged by their batch."""
    sources: dict[str, frozenset[str]] = {}
    for stage in members:
        match stage:
            case Read():
                sources[stage.name] = frozenset({stage.name})
            case FilterProject() | UnionAll() | Expect() | Aggregate():
                found = [sources.get(name, frozenset()) for name in stage.inputs]
                sources[stage.name] = frozenset().union(*found) if all(found) and not isinstance(stage, Aggregate) else frozenset()
            case _:
                sources[stage.name] = frozenset()
    rows = {stage.name for stage in members if isinstance(stage, Read) and stage.clock.granularity is Granularity.ROW}
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
    return stage.window is not None and not isinstance(stage.window, CountedKind) and not stage.time.on_arrival


def _exact(stage: Aggregate) -> Aggregate:
    """Rows of the same slice may be late for different windows, and a limit cuts sessions in the order of rows."""
    shape, reason = stage.partial_shape, stage.reason
    if isinstance(stage.window, FixedKind) and stage.window.overlaps and shape is PartialShape.SLICES:
        shape, reason = PartialShape.WINDOWS, "rows of one slice may be late for different windows"
    return replace(stage, is_exact=True, partial_shape=shape, reason=reason)


def _telling(read: Read) -> Read:
    return replace(read, clock=replace(read.clock, granularity=Granularity.ROW))
