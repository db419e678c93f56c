"""When a row is too late for a join of streams: as SQL, for rows that come, and as a table, for rows that are here."""

from __future__ import annotations

from typing import assert_never

from windrow.model.window import DropLate
from windrow.model.window_kinds import MovingKind
from windrow.plan.stages import IntervalJoin, StreamJoin
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.spark.compile.expressions import of_batch
from windrow.windowing.joins import Until
from windrow.windowing.window_joins import FixedWindows, SessionWindows


def may_be_late(stage: StreamJoin, index: int, time: str, watermark_before: int) -> str:
    """SQL that is true for every row of a side that may turn out to be too late: it must keep its text."""
    if isinstance(stage.late, DropLate):
        return "false"
    mark = of_batch(watermark_before, time)
    match stage:
        case AsofJoin():
            return f"{time} < {mark}"
        case WindowJoin():
            return f"{windows_of(stage).until.sql(time)} <= {mark}"
        case IntervalJoin():
            if is_judged_first(stage):
                return f"{until_of(stage, index).sql(time)} <= {mark}"
            return "false" if (stage.keeps_left, stage.keeps_right)[index] else f"{time} < {mark}"
        case _:
            assert_never(stage)


def is_judged_first(stage: IntervalJoin) -> bool:
    return stage.inside is not None and stage.inside.judges_first


def until_of(stage: IntervalJoin, index: int) -> Until:
    after, inside = stage.kept_for[index], stage.inside
    return Until(after) if inside is None else Until(after, inside.advance, inside.offset)


def windows_of(stage: WindowJoin) -> FixedWindows | SessionWindows:
    if isinstance(stage.window, MovingKind):
        return SessionWindows(stage.window.gap, stage.lateness)
    return FixedWindows(stage.window, stage.lateness)
