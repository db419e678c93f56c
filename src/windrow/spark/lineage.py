"""Whose time a stage's rows have: the sources they come from, and how late joins may let them out."""

from __future__ import annotations

from windrow.plan.stages import Enrich, IntervalJoin, Job, Read, Stage


def roots_of(job: Job) -> dict[str, tuple[str, ...]]:
    """The sources each stage's rows come from."""
    roots: dict[str, tuple[str, ...]] = {}
    for stage in job.stages:
        own = (stage.name,) if isinstance(stage, Read) else tuple(r for name in _timed_by(stage) for r in roots.get(name, ()))
        roots[stage.name] = tuple(dict.fromkeys(own))
    return roots


def held_back(job: Job) -> dict[str, int]:
    """How far behind the watermark of its sources the rows that reach each stage may come: outer joins let rows out late."""
    behind: dict[str, int] = {}
    gives: dict[str, int] = {}
    for stage in job.stages:
        behind[stage.name] = max((gives.get(name, 0) for name in _timed_by(stage)), default=0)
        gives[stage.name] = behind[stage.name] + (stage.held_back if isinstance(stage, IntervalJoin) else 0)
    return behind


def _timed_by(stage: Stage) -> tuple[str, ...]:
    """The inputs whose time is the stage's: a table that is looked up holds nothing back."""
    return (stage.stream.input,) if isinstance(stage, Enrich) else stage.inputs
