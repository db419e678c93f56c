"""By how much a row was late: what its dead letter says of the watermark and of the windows that it was for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow.model.lateness import late_by
from windrow.model.window_kinds import MovingKind
from windrow.plan.sharing import fixed_of
from windrow.plan.stages import Aggregate, StreamJoin
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.spark.execution.dead_letters import Lateness
from windrow.spark.scan.diverted_rows import judgement_of


def late_for_windows(stage: Aggregate, row: Mapping[str, Any]) -> Lateness | None:
    """Of a row that no window of a statement takes."""
    time, watermark = judgement_of(row)
    if time is None or watermark is None:
        return None
    end = _last_end(stage, time)
    over_for = late_by(end, stage.lateness, watermark)
    # A window may have been let go before its time, to make room: it was over for so long.
    return Lateness(watermark, over_for if over_for >= 0 else watermark - end, end)


def _last_end(stage: Aggregate, time: int) -> int:
    """The end of the last window that a row of this time belongs to."""
    if isinstance(stage.window, MovingKind):
        return time + stage.window.own_length
    fixed = fixed_of(stage)
    assert fixed is not None, "without windows no row is late"
    return fixed.last_end(time)


def late_for_join(stage: StreamJoin, row: Mapping[str, Any], watermark: int) -> Lateness | None:
    """Of a row that a join of streams does not take: its last window has closed for good, or it is behind the watermark and alone."""
    time, _ = judgement_of(row)
    if time is None:
        return None
    if isinstance(stage, WindowJoin):
        end = time + stage.window.own_length if isinstance(stage.window, MovingKind) else stage.window.last_end(time)
        return Lateness(watermark, late_by(end, stage.lateness, watermark), end)
    inside = None if isinstance(stage, AsofJoin) else stage.inside
    if inside is None:
        return Lateness(watermark, watermark - time)
    end = time - (time - inside.offset) % inside.advance + inside.size
    return Lateness(watermark, late_by(end, inside.lateness, watermark) if inside.judges_first else watermark - time, end)
