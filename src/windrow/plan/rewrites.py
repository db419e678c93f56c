"""The planner's rewrites, each a function with a name, in the order in which they are done.

What a statement says is rewritten before its names are bound (``SELECT_REWRITES``), its stages as they are made
(``SELECTED_REWRITES``), all stages of a file together (``PLAN_REWRITES``), and the stages of each job (``JOB_REWRITES``).
A new rewrite is a function in a file of its own and a line here; nothing else in the planner knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from windrow.catalog.relation import Names
from windrow.catalog.zones import time_zone_of
from windrow.model.query import Select
from windrow.model.statement import Script
from windrow.plan.event_times import keep_event_times
from windrow.plan.exploding import take_listed
from windrow.plan.granularity import judge_row_by_row
from windrow.plan.headers import keep_source_headers
from windrow.plan.joining import Joined
from windrow.plan.over import mark_emission_groups
from windrow.plan.own_times import own_times
from windrow.plan.pruning import prune_reads
from windrow.plan.scoped import name_stars, open_variants
from windrow.plan.selects import Selected, within_shared_windows
from windrow.plan.stages import Aggregate, FilterProject, LoadTable, Read, Stage
from windrow.plan.subqueries import TableQuery, lift_subqueries
from windrow.plan.window_joining import with_pair_starts


@dataclass(frozen=True)
class SelectContext:
    """What names mean where a SELECT stands, its common tables over tables, and whether it stops at an error."""

    names: Names
    common: Mapping[str, TableQuery]
    is_strict: bool


def explode_listed(select: Select, _context: SelectContext) -> Select:
    """EXPLODE in the list becomes a lateral view."""
    return take_listed(select)


def read_variants(select: Select, context: SelectContext) -> Select:
    """Paths into VARIANT become calls, and casts that may stop become TRY_CAST."""
    return open_variants(select, context.names, is_strict=context.is_strict)


def ask_subqueries(select: Select, context: SelectContext) -> Select:
    """Subqueries over tables become questions, which stages before or after answer."""
    return lift_subqueries(select, context.names, context.common)


def name_starred(select: Select, context: SelectContext) -> Select:
    """SELECT DISTINCT * compares columns, so they are named."""
    return name_stars(select, context.names)


SELECT_REWRITES: tuple[Callable[[Select, SelectContext], Select], ...] = (explode_listed, read_variants, ask_subqueries, name_starred)


def group_pairs_of_windows(stage: Selected, _joined: Joined | None) -> Selected:
    """A stage that groups pairs of windows knows where the start of each is."""
    return with_pair_starts(stage)


def share_windows(stage: Selected, joined: Joined | None) -> Selected:
    """A joined row belongs to the windows that hold all of its parts."""
    since = None if joined is None else joined.since
    return within_shared_windows(stage, since) if since is not None and isinstance(stage, Aggregate) else stage


def set_beside(stage: Selected, joined: Joined | None) -> Selected:
    """System columns that a join gives its pairs are no part of their rows."""
    beside = frozenset() if joined is None else joined.beside
    return replace(stage, beside=beside) if beside and isinstance(stage, FilterProject) else stage


SELECTED_REWRITES: tuple[Callable[[Selected, Joined | None], Selected], ...] = (group_pairs_of_windows, share_windows, set_beside)


def compare_emission_groups(stages: Mapping[str, Stage], _script: Script) -> Mapping[str, Stage]:
    """OVER within one window of a stream of windows compares what comes out together, and keeps nothing."""
    return mark_emission_groups(stages)


def apply_time_zone(stages: Mapping[str, Stage], script: Script) -> Mapping[str, Stage]:
    """Sources and tables read times in the zone of the file."""
    zone = time_zone_of(script)
    return {name: _in_zone(stage, zone) for name, stage in stages.items()}


def _in_zone(stage: Stage, zone: str) -> Stage:
    match stage:
        case Read():
            return replace(stage, time_zone=zone)
        case LoadTable():
            return replace(stage, read=replace(stage.read, time_zone=zone))
        case _:
            return stage


PLAN_REWRITES: tuple[Callable[[Mapping[str, Stage], Script], Mapping[str, Stage]], ...] = (
    compare_emission_groups,
    prune_reads,
    apply_time_zone,
)

JOB_REWRITES: tuple[Callable[[list[Stage]], list[Stage]], ...] = (keep_source_headers, keep_event_times, own_times, judge_row_by_row)


def rewrite_select(select: Select, context: SelectContext) -> Select:
    for rewrite in SELECT_REWRITES:
        select = rewrite(select, context)
    return select


def rewrite_selected(stage: Selected, joined: Joined | None) -> Selected:
    for rewrite in SELECTED_REWRITES:
        stage = rewrite(stage, joined)
    return stage


def rewrite_plan(stages: Mapping[str, Stage], script: Script) -> dict[str, Stage]:
    for rewrite in PLAN_REWRITES:
        stages = rewrite(stages, script)
    return dict(stages)


def rewrite_job(members: list[Stage]) -> list[Stage]:
    """Stages of one job, in the order rows flow."""
    for rewrite in JOB_REWRITES:
        members = rewrite(members)
    return members
