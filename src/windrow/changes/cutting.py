"""Changes that mean another input or another shape, and that a job can still make: at a time at which windows of both texts start.

What is asked here is whether the statements allow it; where that time is, only the state can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from windrow.aggregates import find_aggregate
from windrow.changes.classes import Change
from windrow.model.types import UNKNOWN
from windrow.model.window import IncludeInNext
from windrow.model.window_kinds import FixedKind
from windrow.plan.cut_over import added_columns, output_columns, stands_twice
from windrow.plan.explain_json import stage_to_json
from windrow.plan.fingerprint import called
from windrow.plan.stages import (
    Aggregate,
    Explode,
    FilterProject,
    Job,
    LoadTable,
    LookupJoin,
    OverAggregate,
    Read,
    Stage,
    StreamJoin,
    SubqueryLookup,
    UnionAll,
    UpsertTable,
    Write,
)
from windrow.plan.window_cut import overlap
from windrow.sql import render_expr

_AT_CUT = "windows that start before the cut stay with the old text to the end, later ones are of the new"
_BEFORE_CUT = "the rows that it gives are of the new text from now on; windows that start before the cut get those of the old"


def cut_over(old: Job, new: Job, changes: Sequence[Change]) -> tuple[list[Change], tuple[str, ...]]:
    """The changes, and the statements that have to be cut over for them; none where some change cannot be made even so.

    A change that can be made is no longer refused; one that cannot says why.
    """
    titles = titles_of(old, new)
    cut: dict[str, None] = {}
    told = []
    for change in (judged(change, titles) for change in changes):
        stage = titles.get(change.statement)
        if not change.refused or stage is None or change.of_function:
            told.append(change)
            continue
        found, why_not = _statements(stage, old, new)
        cut.update(dict.fromkeys(found))
        told.append(replace(change, refused=f"{change.refused}. No cut at a window boundary: {why_not}") if why_not else change)
    stages = tuple(stage.name for stage in new.stages if stage.name in cut)
    obstacle = next(_obstacles(stages, old, new), None)
    if obstacle is not None:
        told = [replace(c, refused=f"{c.refused}. No cut at a window boundary: {obstacle}") if c.refused else c for c in told]
        return told, ()
    if not stages or any(change.refused and not _is_made_by(change, titles, stages, new) for change in told):
        return told, ()
    return [_made(change, titles, stages) if _is_made_by(change, titles, stages, new) else change for change in told], stages


def titles_of(old: Job, new: Job) -> dict[str, Stage]:
    """The stages of both texts by what a user knows them as; of the new one where both have it."""
    return {called(stage_to_json(stage)): stage for job in (old, new) for stage in job.stages}


def judged(change: Change, titles: Mapping[str, Stage]) -> Change:
    """A new aggregate is refused where what is kept cannot take it."""
    stage = titles.get(change.statement)
    if change.added_call is None or not isinstance(stage, Aggregate) or addable(change, stage):
        return change
    return replace(change, refused="its parts are more than numbers that run up, so it cannot join windows that are open", added_call=None)


def addable(change: Change, stage: Aggregate) -> bool:
    """Whether a new aggregate can be added to what is kept: NULL is a value of its parts like any other."""
    call = next((item.call for item in stage.aggregates if change.what == f"{render_expr(item.call)} is new"), None)
    form = None if call is None else find_aggregate(call)
    return form is not None and all(part.run is not None for part in form.parts)


def _is_made_by(change: Change, titles: dict[str, Stage], stages: tuple[str, ...], new: Job) -> bool:
    stage = titles.get(change.statement)
    if stage is None or "No cut" in change.refused:
        return False
    return stage.name in stages or (bool(change.refused) and bool(_grouping_after(stage, new)))


def _made(change: Change, titles: dict[str, Stage], stages: tuple[str, ...]) -> Change:
    state = _AT_CUT if titles[change.statement].name in stages else _BEFORE_CUT
    return replace(change, refused="", state=state, added_call=None, is_cut=True)


def _statements(stage: Stage, old: Job, new: Job) -> tuple[list[str], str]:
    """The statements that a change of a stage reaches, or why they cannot be cut over."""
    if isinstance(stage, Read):
        return [], "both texts would have to read the same source in two ways"
    if isinstance(stage, LoadTable) and stage in old.stages:
        return [], "both texts would need the table in their own way"
    if stage.name not in {each.name for each in new.stages}:
        return [], f"{stage.name} is not there any more"
    reached = _keeping_after(stage, new)
    others = [each for each in reached if not isinstance(each, Aggregate)]
    if others:
        return [], f"{_title(others[0])} keeps rows, and no window says which text they are of"
    there = {each.name for each in old.stages}
    found = [each.name for each in reached if each.name in there]
    return found, "" if found else "no statement with windows is behind it"


def _keeping_after(stage: Stage, job: Job) -> list[Stage]:
    """Every stage that keeps something of the rows of one, itself included, however far behind it."""
    names = {stage.name}
    reached: list[Stage] = []
    for each in job.stages:
        if each.name == stage.name or names & set(each.inputs):
            if isinstance(each, Write):
                continue
            names.add(each.name)
            if _keeps(each):
                reached.append(each)
    return reached


def _grouping_after(stage: Stage, job: Job) -> list[Stage]:
    return [each for each in _keeping_after(stage, job) if isinstance(each, Aggregate)]


def _keeps(stage: Stage) -> bool:
    match stage:
        case Aggregate() | UpsertTable():
            return True
        case OverAggregate():
            return stage.keeps_rows
        case LookupJoin():
            return stage.retry_for is not None
        case _:
            return isinstance(stage, StreamJoin)


def _obstacles(stages: tuple[str, ...], old: Job, new: Job) -> Iterator[str]:
    """Why statements cannot be cut over, if they cannot."""
    for name in stages:
        before, after = old.stage(name), new.stage(name)
        if not isinstance(before, Aggregate) or not isinstance(after, Aggregate):
            yield f"{name} did not group before"
            continue
        for stage in (before, after):
            yield from _of_statement(stage)
        yield from _of_columns(before, after, old, new)
        assert before.window is not None
        reads_another = [each for each in stages if each != name and any(s.name == each for s in _keeping_after(before, old))]
        if reads_another and isinstance(before.window, FixedKind) and overlap(before.window):
            yield f"windows of {name} reach beyond the cut, and {reads_another[0]} groups what they put out"
    for each in stands_twice(old, new, stages):
        yield from _of_copy(each, stages)


def _of_copy(stage: Stage, stages: tuple[str, ...]) -> Iterator[str]:
    match stage:
        case LookupJoin(lookups=lookups, retry_for=retry):
            if retry is not None or any(lookup.on_missing in ("skip", "fail", "wait") for lookup in lookups):
                yield f"{_title(stage)} leaves rows out or waits, and would do so twice"
        case Aggregate(name=name):
            if name not in stages:
                yield f"{_title(stage)} would be needed twice"
        case FilterProject(output=output):
            if output.limit is not None:
                yield f"{_title(stage)} has a LIMIT, which counts over both texts"
        case Explode() | SubqueryLookup() | UnionAll() | LoadTable():
            pass
        case _:
            yield f"{_title(stage)} cannot stand twice, once for each text"


def _of_statement(stage: Aggregate) -> Iterator[str]:
    name = stage.name
    if stage.window is None:
        yield f"groups of {name} have no window, so they have no end"
    elif not isinstance(stage.window, FixedKind):
        yield f"{stage.window.word} windows of {name} begin where rows say, so old and new ones never start together"
    elif stage.time.on_arrival:
        yield f"windows of {name} go by the time of arrival"
    elif stage.time.has_own_clock or stage.since is not None or stage.starts_at is not None:
        yield f"windows of {name} have a time of their own, and the source does not know how far that has come"
    elif stage.is_exact:
        yield f"rows of {name} are judged one by one ('watermark.granularity' is 'row')"
    elif isinstance(stage.late, IncludeInNext):
        yield f"late rows of {name} go to the next open window, which would be one of the other text"
    elif stage.late_stream is not None:
        yield f"late rows of {name} go to {stage.late_stream}, which would have those of both texts"
    elif stage.output.limit is not None:
        yield f"{name} has a LIMIT, which counts over both texts"


def _of_columns(before: Aggregate, after: Aggregate, old: Job, new: Job) -> Iterator[str]:
    unknown = [column.name for column in added_columns(before, after, new) if column.type == UNKNOWN]
    if unknown:
        yield f"column {unknown[0]} of {after.name} is new, and its type is not known before the first row: add it first, by itself"
    types = {column.name: column.type for column in output_columns(before, old)}
    for column in output_columns(after, new):
        if UNKNOWN not in (column.type, types.get(column.name, UNKNOWN)) and types[column.name] != column.type:
            yield f"column {column.name} of {after.name} would be {types[column.name]} in old windows and {column.type} in new ones"


def _title(stage: Stage) -> str:
    return called(stage_to_json(stage))
