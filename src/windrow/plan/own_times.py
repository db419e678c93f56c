"""Which windows go by the clock of their source, and which by one of their own."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Binary, Column, Interval
from windrow.model.window_kinds import END, INSTANT
from windrow.plan.stages import Aggregate, Expect, Explode, FilterProject, LookupJoin, Read, Stage, StreamJoin, UnionAll

# Where a query before has said what the event time of its rows is.
GIVEN_TIME = Column("_event_time")
_LAST_INSTANTS = (GIVEN_TIME, Binary("-", Column(END), Interval(INSTANT)))


def own_times(members: list[Stage]) -> list[Stage]:
    """Rows that were given another event time on their way say themselves how far it has come: a source's clock knows nothing of it.

    A window that names the very column its source takes the event time from goes by the source, which knows how to read it.
    """
    known: dict[str, Stage] = {}
    given: set[str] = set()
    timed: list[Stage] = []
    for stage in members:
        if _gives_time(stage, known) or _hands_on(stage, given):
            given.add(stage.name)
        if isinstance(stage, Aggregate):
            stage = _timed(stage, known.get(stage.input), is_given=stage.input in given)
        known[stage.name] = stage
        timed.append(stage)
    return timed


def _gives_time(stage: Stage, known: dict[str, Stage]) -> bool:
    """The pairs of a join come in no order of their own, so the sources of a join keep their say."""
    if not isinstance(stage, FilterProject) or isinstance(known.get(stage.input), StreamJoin):
        return False
    return any(item.name.lower() == "_event_time" and item.expr not in (None, GIVEN_TIME) for item in stage.output.items)


def _hands_on(stage: Stage, given: set[str]) -> bool:
    match stage:
        case FilterProject() | Explode() | UnionAll() | Expect():
            return all(name in given for name in stage.inputs)
        case LookupJoin():
            return stage.stream.input in given
        case _:
            return False


def _is_time_of(source: Aggregate, column: Column) -> bool:
    """Whether a column holds the event time of what a window puts out: its last instant, which Flink calls window_time."""
    return any(item.name.lower() == column.name.lower() and item.expr in _LAST_INSTANTS for item in source.output.items)


def _timed(stage: Aggregate, source: Stage | None, *, is_given: bool) -> Aggregate:
    if is_given and stage.time.event_time is None and not stage.time.on_arrival:
        return replace(stage, time=replace(stage.time, event_time=GIVEN_TIME))
    if isinstance(source, Aggregate) and isinstance(stage.time.event_time, Column) and _is_time_of(source, stage.time.event_time):
        return replace(stage, time=replace(stage.time, event_time=None))
    if isinstance(source, Read) and source.time.column is not None and isinstance(stage.time.event_time, Column):
        is_same = stage.time.event_time.name.lower() == source.time.column.lower()
        return replace(stage, time=replace(stage.time, event_time=None)) if is_same else stage
    return stage
