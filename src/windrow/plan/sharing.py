"""Statements that filter and group the same rows alike share one pass over them, however their windows differ.

What the executors make of a batch, partials by group and slice, serves all of them: a window is a whole number of slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from windrow.model.window import DeadLetterLate, IncludeInNext
from windrow.model.window_kinds import FixedKind
from windrow.plan.stages import Aggregate, AggregateItem, Job, PartialShape, holds_rows


def fixed_of(stage: Aggregate) -> FixedKind | None:
    return stage.window if isinstance(stage.window, FixedKind) else None


@dataclass(frozen=True)
class SharedAggregation:
    """``leader`` is what the executors are asked: every aggregate of the members, in windows of a single slice.

    ``slots`` are, for each member, the names that its aggregates have there.
    """

    leader: Aggregate
    members: tuple[Aggregate, ...]
    slots: dict[str, dict[str, str]]


def shared_aggregations(job: Job) -> tuple[SharedAggregation, ...]:
    """Members of one are in the order of the plan."""
    alike: dict[str, list[Aggregate]] = {}
    for stage in job.stages:
        if isinstance(stage, Aggregate) and why_alone(stage) is None:
            alike.setdefault(repr((stage.input, stage.where, stage.keys, stage.is_strict)), []).append(stage)
    found = [_shared(tuple(stages)) for stages in alike.values() if len(stages) > 1]
    return tuple(one for one in found if one is not None)


def why_alone(stage: Aggregate) -> str | None:
    """Why a stage shares no pass with others, in words that end "... share a pass"; None where it can.

    Windows of fixed bounds that emit once, by the event time and the watermark of their source, can.
    """
    if fixed_of(stage) is None:
        return "only windows of fixed length share a pass"
    if not stage.time.is_of_source or stage.since is not None:
        return "only windows by the event time and the watermark of the source share a pass"
    if stage.partial_shape is not PartialShape.SLICES or stage.when:
        return "only windows that emit once, when they close (EMIT FINAL), share a pass"
    if isinstance(stage.late, IncludeInNext):
        return "only windows that do not take late rows into the next one share a pass"
    if holds_rows(stage):
        return "only aggregates that need not hold whole rows share a pass"
    if stage.cut is not None:
        return "only windows of one text share a pass"
    if stage.is_exact:
        return "only with 'watermark.granularity' = 'batch' do windows share a pass"
    return None


def _shared(members: tuple[Aggregate, ...]) -> SharedAggregation | None:
    """None where the slices of all would be finer than any of them needs: that could cost more than it saves."""
    windows = [fixed for stage in members if (fixed := fixed_of(stage)) is not None]
    offset = windows[0].offset
    width = gcd(*(fixed.slice for fixed in windows), *(fixed.offset - offset for fixed in windows))
    if width != min(fixed.slice for fixed in windows):
        return None
    known: dict[str, AggregateItem] = {}
    slots: dict[str, dict[str, str]] = {}
    for stage in members:
        own = slots.setdefault(stage.name, {})
        for item in stage.aggregates:
            shared = known.setdefault(repr(item.call), AggregateItem(f"_a{len(known)}", item.call))
            own[item.slot] = shared.slot
    leader = replace(
        members[0],
        aggregates=tuple(known.values()),
        window=windows[0].of_one_slice(width),
        lateness=min(stage.lateness for stage in members),
        late=DeadLetterLate(None),
    )
    return SharedAggregation(leader, members, slots)
