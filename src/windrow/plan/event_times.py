"""The event time of groups without a window, for those who read them as a stream."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Call, Column
from windrow.plan.stages import Aggregate, AggregateItem

LAST_TIME = "_a_time"


def keep_time(stage: Aggregate) -> Aggregate:
    """A window's last instant is the time of its emissions; a group without one has the time of the row that changed it last."""
    last = AggregateItem(LAST_TIME, Call("LAST", (Column("_event_time"),)))
    return replace(stage, aggregates=(*stage.aggregates, last), keeps_time=True)
