"""The event time of groups without a window, for those who read them as a stream."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Call, Column
from windrow.plan.stages import Aggregate, AggregateItem, LateRows, Stage, Write

LAST_TIME = "_a_time"


def keep_time(stage: Aggregate) -> Aggregate:
    """A window's last instant is the time of its emissions; a group without one has the time of the row that changed it last."""
    last = AggregateItem(LAST_TIME, Call("LAST", (Column("_event_time"),)))
    return replace(stage, aggregates=(*stage.aggregates, last), keeps_time=True)


def keep_event_times(members: list[Stage]) -> list[Stage]:
    """Of every group without a window whose emissions are read as a stream."""
    read = {name for stage in members if not isinstance(stage, Write | LateRows) for name in stage.inputs}
    return [
        keep_time(stage) if isinstance(stage, Aggregate) and stage.window is None and stage.name in read else stage for stage in members
    ]
