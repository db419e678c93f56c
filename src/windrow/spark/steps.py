"""The pure step that belongs to an aggregating stage."""

from __future__ import annotations

from typing import assert_never

import polars as pl

from windrow.model.window import IncludeInNext, Rows, Session, Sliding, Tumbling
from windrow.plan.sharing import fixed_of
from windrow.plan.stages import Aggregate, Enrich, Feed, IntervalJoin, Job, KeepLatest, LookBack
from windrow.spark.feeds import form_of, part_names, runs_of
from windrow.spark.interval_join import side_steps
from windrow.spark.look_back import key_name
from windrow.windowing.columns import Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.epochs import EpochStep
from windrow.windowing.kept import KeepStep
from windrow.windowing.latest import LatestStep
from windrow.windowing.panes import PaneStep
from windrow.windowing.sessions import SessionStep
from windrow.windowing.slices import SliceStep
from windrow.windowing.step import WindowStep
from windrow.windowing.waiting import WaitStep


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
        if isinstance(stage, Aggregate | KeepLatest) or (isinstance(stage, LookBack) and stage.keeps_rows):
            steps[stage.name] = build_step(stage)
        elif isinstance(stage, IntervalJoin):
            steps.update(side_steps(stage))
        elif isinstance(stage, Enrich) and stage.patience is not None:
            steps[stage.name] = WaitStep(stage.patience)
    return steps


def build_step(stage: Aggregate | LookBack | KeepLatest) -> WindowStep:
    if isinstance(stage, KeepLatest):
        return LatestStep(stage.key, stage.ttl)
    if isinstance(stage, LookBack):
        return _keep_step(stage)
    step = _window_step(stage)
    return EpochStep(step) if stage.is_exact else step


def _window_step(stage: Aggregate) -> WindowStep:
    layout = layout_of(stage)
    match stage.window:
        case Tumbling() | Sliding():
            fixed = fixed_of(stage)
            assert fixed is not None
            if stage.feed is Feed.SLICES:
                return SliceStep(layout, fixed, stage.lateness)
            return PaneStep(layout, stage.speech, fixed.size, stage.lateness)
        case None:
            return PaneStep(layout, stage.speech, None, 0, stage.ttl)
        case Session(gap=gap, max_length=limit):
            include_late = isinstance(stage.late, IncludeInNext)
            return SessionStep(layout, gap, limit, stage.lateness, stage.speech, include_late)
        case Rows(count=count):
            return CountStep(layout, count, stage.speech)
        case _:
            assert_never(stage.window)


def _keep_step(stage: LookBack) -> KeepStep:
    """With several looks, what is kept serves all of them: the most rows, of the coarsest partition."""
    looks = {index: look for index, look in enumerate(stage.looks) if not look.is_at_once}
    counts = [look.buffer for look in looks.values()]
    if len({look.partition_by for look in looks.values()}) > 1:
        return KeepStep((), None)
    most = None if None in counts else max(count for count in counts if count is not None)
    index, first = next(iter(looks.items()))
    return KeepStep(tuple(key_name(index, j) for j in range(len(first.partition_by))), most)
