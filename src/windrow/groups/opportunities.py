"""What is computed more than once and need not be: the change that would share it, and what that saves by measured figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.groups.group import Group
from windrow.groups.member import Access, Member, is_statement
from windrow.groups.sharing import Cost, Figures, cost_of, shared_in
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import essence, field_changes
from windrow.plan.sharing import why_alone
from windrow.plan.stages import Aggregate, FilterProject, Job
from windrow.sql import render_expr


@dataclass(frozen=True)
class Use:
    """One statement or source of a file that does what another does, too."""

    file: str
    job: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} of {self.file}"


@dataclass(frozen=True)
class Opportunity:
    """``kind`` is same_source, same_statement, same_groups or same_filter. ``saves`` is what the cheaper ones of ``uses`` took; it is an
    upper bound where ``is_at_most``, because only a part of that work is done twice. None where nothing was recorded.
    """

    kind: str
    text: str
    change: str
    uses: tuple[Use, ...]
    saves: Cost | None
    is_at_most: bool = False

    @property
    def words(self) -> str:
        if self.saves is None:
            return "not measured: windrow group has figures where all of them have run"
        return f"{'at most ' if self.is_at_most else ''}{self.saves.words}"


def opportunities(group: Group, figures: Figures) -> list[Opportunity]:
    """Those that save most come first; what was not measured comes last."""
    known = [_Statements.of(member) for member in group.members]
    found = [*_same_sources(group, figures), *_same_statements(known, figures)]
    for member in group.members:
        for job in member.plan.jobs:
            found += [*_same_groups(member, job, figures), *_same_filters(member, job, figures)]
    return sorted(found, key=lambda one: -1.0 if one.saves is None else one.saves.seconds, reverse=True)


@dataclass(frozen=True)
class _Statements:
    """The statements of a file by what they compute: two of one meaning are the same wherever they stand."""

    member: Member
    meanings: Mapping[str, tuple[str, str]]

    @staticmethod
    def of(member: Member) -> _Statements:
        found: dict[str, tuple[str, str]] = {}
        for job in member.plan.jobs:
            stages = essence(job_to_json(job))
            places = {access.statement: str(access.place) for access in member.reads}
            meanings: dict[str, str] = {}
            for name, stage in stages.items():
                meanings[name] = _meaning(stage, meanings, places)
            found |= {stage.name: (job.name, meanings[stage.name]) for stage in job.stages if is_statement(stage)}
        return _Statements(member, found)


def _meaning(stage: Mapping[str, Any], meanings: Mapping[str, str], places: Mapping[str, str]) -> str:
    """A stage without its own name, over what its inputs mean."""
    inputs = {name: meanings.get(name, name) for name in stage.get("inputs", ())}
    kept = {key: value for key, value in stage.items() if key not in ("name", "inputs", "of", "parts", "statement")}
    if stage["kind"] in ("read", "load_table"):
        kept["place"] = places.get(stage["name"], stage["name"])
    return json.dumps([kept, list(inputs.values())], sort_keys=True, ensure_ascii=False)


def _same_sources(group: Group, figures: Figures) -> Iterator[Opportunity]:
    """Each job reads and decodes what it reads by itself."""
    for place in group.places().values():
        readers = [access for access in place.readers if not access.is_table]
        if len({(access.file, access.job) for access in readers}) < 2:
            continue
        uses = tuple(Use(access.file, access.job, access.statement) for access in readers)
        differing = _differences(group, readers)
        change = (
            f"put the statements over {place.dataset} into one file: its job reads it once"
            if not differing
            else f"declare it alike ({'; '.join(differing)}), then put the statements into one file"
        )
        text = f"{place.dataset} is read {len(readers)} times: {', '.join(map(str, readers))}"
        yield Opportunity("same_source", text, change, uses, _cheaper(uses, figures))


def _differences(group: Group, readers: Sequence[Access]) -> list[str]:
    """Where the declarations of one source differ."""
    stages = [essence(job_to_json(_job(group, access)))[access.statement] for access in readers]
    found: dict[str, None] = {}
    for stage in stages[1:]:
        for path, _, _ in field_changes(stages[0], stage):
            if path not in ("name", "projected_columns"):
                found[path.removeprefix("options.").replace("_", " ")] = None
    return list(found)


def _job(group: Group, access: Access) -> Job:
    return next(job for job in group.member(access.file).plan.jobs if job.name == access.job)


def _same_statements(known: Sequence[_Statements], figures: Figures) -> Iterator[Opportunity]:
    by_meaning: dict[str, list[Use]] = {}
    for one in known:
        for name, (job, meaning) in one.meanings.items():
            by_meaning.setdefault(meaning, []).append(Use(one.member.file, job, name))
    for uses in by_meaning.values():
        if len(uses) < 2:
            continue
        first, *others = uses
        is_one_job = len({(use.file, use.job) for use in uses}) == 1
        change = (
            f"keep {first.name}, and read it where {', '.join(use.name for use in others)} is read"
            if is_one_job
            else f"write {first.name} to a topic or folder in {first.file}, and read that in {', '.join(use.file for use in others)}"
        )
        text = f"{', '.join(map(str, uses))} compute the same"
        yield Opportunity("same_statement", text, change, tuple(uses), _cheaper(tuple(uses), figures))


def _same_groups(member: Member, job: Job, figures: Figures) -> Iterator[Opportunity]:
    """Statements that group the same rows alike, and do not share a pass."""
    shared = [set(one.users) for one in shared_in(member, {}) if one.kind == "pass"]
    alike: dict[str, list[Aggregate]] = {}
    for stage in job.stages:
        if isinstance(stage, Aggregate):
            alike.setdefault(repr((stage.input, stage.where, stage.keys)), []).append(stage)
    for stages in alike.values():
        names = [stage.name for stage in stages]
        if len(stages) < 2 or any(set(names) <= users for users in shared):
            continue
        uses = tuple(Use(member.file, job.name, name) for name in names)
        text = f"{', '.join(names)} of {member.file} group the rows of {stages[0].input} alike, each in a pass of its own"
        yield Opportunity("same_groups", text, _how_to_share(stages), uses, _cheaper(uses, figures), is_at_most=True)


def _how_to_share(stages: Sequence[Aggregate]) -> str:
    reasons = dict.fromkeys(f"{stage.name}: {reason}" for stage in stages if (reason := why_alone(stage)) is not None)
    if reasons:
        return "; ".join(reasons)
    if len({stage.is_strict for stage in stages}) > 1:
        return "they share a pass where all of them treat errors of expressions alike"
    return "they share a pass where the shortest window divides the lengths and offsets of the others"


def _same_filters(member: Member, job: Job, figures: Figures) -> Iterator[Opportunity]:
    """One condition over the rows of one input, asked by several statements."""
    shared = [set(one.users) for one in shared_in(member, {}) if one.kind == "pass"]
    alike: dict[tuple[str, str], list[str]] = {}
    for stage in job.stages:
        if isinstance(stage, FilterProject | Aggregate) and stage.where is not None:
            alike.setdefault((stage.input, render_expr(stage.where)), []).append(stage.name)
    for (source, condition), names in alike.items():
        if len(names) < 2 or any(set(names) <= users for users in shared):
            continue
        uses = tuple(Use(member.file, job.name, name) for name in names)
        text = f"{', '.join(names)} of {member.file} ask the same of {source}: {condition}"
        change = f"CREATE STREAM filtered AS SELECT * FROM {source} WHERE {condition}, and read that in each"
        yield Opportunity("same_filter", text, change, uses, _cheaper(uses, figures), is_at_most=True)


def _cheaper(uses: Sequence[Use], figures: Figures) -> Cost | None:
    """What all but the dearest of them took: that one stays."""
    costs = [cost_of(figures.get((use.file, use.job)), [use.name]) for use in uses]
    known = sorted((cost for cost in costs if cost is not None), key=lambda cost: cost.seconds)
    if len(known) < len(uses):
        return None
    saved = known[:-1]
    rows = [cost.rows for cost in saved if cost.rows is not None]
    return Cost(
        sum(cost.seconds for cost in saved),
        max(cost.share for cost in saved),
        sum(rows) if rows else None,
        max(cost.batches for cost in saved),
    )
