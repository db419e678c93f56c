"""The pure step that belongs to an aggregating stage."""

from __future__ import annotations

import polars as pl

from windrow.model.window import IncludeInNext
from windrow.model.window_kinds import CountedKind, FixedKind, MovingKind
from windrow.plan.physical.aggregations import runs_of
from windrow.plan.physical.renames import form_of, part_names
from windrow.plan.stages import Aggregate, Job, LookupJoin, OverAggregate, PartialShape, StreamJoin, UpsertTable
from windrow.spark.operators.over_aggregate import key_name
from windrow.spark.operators.stream_join import side_steps
from windrow.windowing.columns import Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.epochs import EpochStep
from windrow.windowing.panes import PaneStep
from windrow.windowing.retry_buffer import RetryStep
from windrow.windowing.row_buffer import RowBufferStep
from windrow.windowing.sessions import SessionStep
from windrow.windowing.slices import SliceStep
from windrow.windowing.step import WindowStep
from windrow.windowing.upsert import UpsertStep


def layout_of(stage: Aggregate) -> Layout:
    merges: list[pl.Expr] = []
    parts: list[str] = []
    for item in stage.aggregates:
        names = part_names(item)
        merges.extend(part.merge(names) for part in form_of(item).parts)
        parts.extend(names.values())
    return Layout(tuple(name for name, _ in stage.keys), tuple(merges), tuple(parts), tuple((runs_of(stage) or {}).values()))


def steps_of(job: Job) -> dict[str, WindowStep]:
    """The pure step of every stage that keeps something."""
    steps: dict[str, WindowStep] = {}
    for stage in job.stages:
        if isinstance(stage, Aggregate | UpsertTable) or (isinstance(stage, OverAggregate) and stage.keeps_rows):
            steps[stage.name] = build_step(stage)
        elif isinstance(stage, StreamJoin):
            steps.update(side_steps(stage))
        elif isinstance(stage, LookupJoin) and stage.retry_for is not None:
            steps[stage.name] = RetryStep(stage.retry_for)
    return steps


def build_step(stage: Aggregate | OverAggregate | UpsertTable) -> WindowStep:
    if isinstance(stage, UpsertTable):
        return UpsertStep(stage.key, stage.ttl)
    if isinstance(stage, OverAggregate):
        return _keep_step(stage)
    step = _window_step(stage)
    return EpochStep(step) if stage.is_exact else step


def _window_step(stage: Aggregate) -> WindowStep:
    layout = layout_of(stage)
    match stage.window:
        case FixedKind() as kind:
            if stage.partial_shape is PartialShape.SLICES:
                cut = stage.cut
                bounds = (None, None) if cut is None else (None, cut.at) if cut.is_before else (cut.at, None)
                return SliceStep(layout, kind, stage.lateness, *bounds)
            return PaneStep(layout, stage.emit_policy, kind, stage.lateness)
        case None:
            return PaneStep(layout, stage.emit_policy, None, 0, stage.ttl)
        case MovingKind(gap=gap, max_length=limit):
            include_late = isinstance(stage.late, IncludeInNext)
            return SessionStep(layout, gap, limit, stage.lateness, stage.emit_policy, include_late)
        case CountedKind(count=count):
            return CountStep(layout, count, stage.emit_policy)
        case kind:
            raise AssertionError(f"a kind of window of no family: {kind.word}")


def _keep_step(stage: OverAggregate) -> RowBufferStep:
    """With several groups of calls, what is kept serves all of them: the most rows, of the coarsest partition."""
    over_calls = {index: group for index, group in enumerate(stage.over_calls) if not group.is_at_once}
    counts = [group.buffer for group in over_calls.values()]
    if len({group.partition_by for group in over_calls.values()}) > 1:
        return RowBufferStep((), None)
    most = None if None in counts else max(count for count in counts if count is not None)
    index, first = next(iter(over_calls.items()))
    return RowBufferStep(tuple(key_name(index, j) for j in range(len(first.partition_by))), most)
