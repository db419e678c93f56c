"""The pure step that belongs to an aggregating stage."""

from __future__ import annotations

from typing import assert_never

import polars as pl

from windrow.model.window import IncludeInNext, Rows, Session, Sliding, Tumbling
from windrow.plan.stages import Aggregate, Feed, LookBack
from windrow.spark.feeds import fixed_of, form_of, part_names
from windrow.spark.look_back import key_name
from windrow.windowing.columns import Layout
from windrow.windowing.counted import CountStep
from windrow.windowing.epochs import EpochStep
from windrow.windowing.kept import KeepStep
from windrow.windowing.panes import PaneStep
from windrow.windowing.sessions import SessionStep
from windrow.windowing.slices import SliceStep
from windrow.windowing.step import WindowStep


def layout_of(stage: Aggregate) -> Layout:
    merges: list[pl.Expr] = []
    parts: list[str] = []
    for item in stage.aggregates:
        names = part_names(item)
        merges.extend(part.merge(names) for part in form_of(item).parts)
        parts.extend(names.values())
    return Layout(tuple(name for name, _ in stage.keys), tuple(merges), tuple(parts))


def build_step(stage: Aggregate | LookBack) -> WindowStep:
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
            one_by_one = stage.is_exact and limit is not None
            return SessionStep(layout, gap, limit, stage.lateness, stage.speech, include_late, one_by_one)
        case Rows(count=count):
            return CountStep(layout, count, stage.speech)
        case _:
            assert_never(stage.window)


def _keep_step(stage: LookBack) -> KeepStep:
    """With several looks, what is kept serves all of them: the most rows, of the coarsest partition."""
    counts = [look.buffer for look in stage.looks]
    keys = {tuple(look.partition_by) for look in stage.looks}
    if len(keys) > 1:
        return KeepStep((), None)
    most = None if None in counts else max(count for count in counts if count is not None)
    return KeepStep(tuple(key_name(0, j) for j in range(len(stage.looks[0].partition_by))), most)
